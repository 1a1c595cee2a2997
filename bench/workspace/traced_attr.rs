//! `#[traced]`: counts the calls of a function in a counter of its own.
extern crate proc_macro;

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

fn function_name(tokens: &[TokenTree]) -> Option<String> {
    let at = tokens.iter().position(|tree| matches!(tree, TokenTree::Ident(ident) if ident.to_string() == "fn"))?;
    match tokens.get(at + 1) {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

#[proc_macro_attribute]
pub fn traced(_arguments: TokenStream, input: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = input.into_iter().collect();
    let name = match function_name(&tokens) {
        Some(name) => name,
        None => return "::core::compile_error!(\"#[traced] goes on a function\");".parse().unwrap(),
    };
    let last = tokens.len() - 1;
    if let TokenTree::Group(body) = tokens[last].clone() {
        if body.delimiter() == Delimiter::Brace {
            let mut inner: TokenStream = format!(
                "static CALLS: ::wire::Counter = ::wire::Counter::new({:?}); CALLS.hit();",
                name
            )
            .parse()
            .unwrap();
            inner.extend(body.stream());
            tokens[last] = TokenTree::Group(Group::new(Delimiter::Brace, inner));
        }
    }
    tokens.into_iter().collect()
}
