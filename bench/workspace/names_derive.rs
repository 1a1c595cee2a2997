//! `#[derive(Names)]`: an enum's variants as text and back.
extern crate proc_macro;

use derive_kit::{expand, Fields, Item, Refusal, Shape};
use proc_macro::TokenStream;

fn kebab(name: &str) -> String {
    let mut text = String::new();
    for (at, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && at > 0 {
            text.push('-');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

fn names(item: &Item) -> Result<String, Refusal> {
    let variants = match &item.shape {
        Shape::Enum(list) => list,
        Shape::Struct(_) => return Err(Refusal("Names needs an enum".to_string())),
    };
    let mut to_name = String::new();
    let mut from_name = String::new();
    for variant in variants {
        let pattern = match variant.fields {
            Fields::Unit => "",
            Fields::Tuple(_) => "(..)",
            Fields::Named(_) => "{ .. }",
        };
        let shown = kebab(&variant.name);
        to_name.push_str(&format!("{}::{}{} => {:?},\n", item.name, variant.name, pattern, shown));
        if let Fields::Unit = variant.fields {
            from_name.push_str(&format!("{:?} => Ok({}::{}),\n", shown, item.name, variant.name));
        }
    }
    Ok(format!(
        "impl {0} {{ pub fn name(&self) -> &'static str {{ match self {{ {1} }} }} }}\n\
         impl ::core::fmt::Display for {0} {{ fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> \
         ::core::fmt::Result {{ f.write_str(self.name()) }} }}\n\
         impl ::core::str::FromStr for {0} {{ type Err = String; fn from_str(text: &str) -> \
         ::core::result::Result<Self, String> {{ match text {{ {2} other => Err(format!(\"no such name: {{}}\", other)) }} }} }}",
        item.name, to_name, from_name
    ))
}

#[proc_macro_derive(Names)]
pub fn derive_names(input: TokenStream) -> TokenStream {
    expand(input, names)
}
