//! `table! { NAME: key => value, ... }`: a sorted table with a look-up, made at compile time.
extern crate proc_macro;

use proc_macro::{Delimiter, TokenStream, TokenTree};

struct Row {
    key: String,
    value: String,
}

fn rows(tokens: &mut impl Iterator<Item = TokenTree>) -> Result<Vec<Row>, String> {
    let mut list: Vec<Row> = Vec::new();
    let mut part = String::new();
    let mut key = None;
    let mut equals = false;
    for tree in tokens {
        match &tree {
            TokenTree::Punct(punct) if punct.as_char() == '=' => {
                equals = true;
                continue;
            }
            TokenTree::Punct(punct) if punct.as_char() == '>' && equals => {
                key = Some(std::mem::take(&mut part));
            }
            TokenTree::Punct(punct) if punct.as_char() == ',' => {
                let found = key.take().ok_or_else(|| format!("no `=>` before the comma after {}", part))?;
                list.push(Row { key: found, value: std::mem::take(&mut part) });
            }
            _ => part.push_str(&tree.to_string()),
        }
        equals = false;
    }
    if let Some(found) = key {
        list.push(Row { key: found, value: part });
    }
    list.sort_by(|a, b| a.key.cmp(&b.key));
    if let Some(pair) = list.windows(2).find(|pair| pair[0].key == pair[1].key) {
        return Err(format!("key {} appears twice", pair[0].key));
    }
    Ok(list)
}

fn table_text(input: TokenStream) -> Result<String, String> {
    let mut tokens = input.into_iter();
    let name = match tokens.next() {
        Some(TokenTree::Ident(ident)) => ident.to_string(),
        _ => return Err("a table starts with its name".to_string()),
    };
    let body = match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Punct(_)), Some(TokenTree::Group(group))) if group.delimiter() == Delimiter::Brace => group,
        _ => return Err("after the name come `:` and rows in braces".to_string()),
    };
    let list = rows(&mut body.stream().into_iter())?;
    let cells: Vec<String> = list.iter().map(|row| format!("({}, {})", row.key, row.value)).collect();
    let arms: Vec<String> = list.iter().map(|row| format!("{} => Some({})", row.key, row.value)).collect();
    Ok(format!(
        "pub static {0}: [(&str, u64); {1}] = [{2}];\n\
         pub fn {3}(key: &str) -> Option<u64> {{ match key {{ {4}, _ => None }} }}",
        name,
        list.len(),
        cells.join(", "),
        name.to_lowercase(),
        arms.join(",\n")
    ))
}

#[proc_macro]
pub fn table(input: TokenStream) -> TokenStream {
    let text = table_text(input).unwrap_or_else(|message| format!("::core::compile_error!({:?});", message));
    text.parse().unwrap()
}
