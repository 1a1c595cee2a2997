//! `#[derive(Visit)]`: names and values of the fields, one after the other.
extern crate proc_macro;

use derive_kit::{attribute_value, expand, Item, Refusal};
use proc_macro::TokenStream;

fn visit(item: &Item) -> Result<String, Refusal> {
    let mut arms = String::new();
    for (path, fields) in item.variants() {
        let mut body = format!("visitor.enter({:?}, {});\n", path, fields.list().len());
        for (at, field) in fields.list().iter().enumerate() {
            let shown = attribute_value(&field.attributes, "visit", "rename").unwrap_or_else(|| field.name.clone());
            body.push_str(&format!("visitor.field({:?}, f{});\n", shown, at));
        }
        body.push_str("visitor.leave();\n");
        arms.push_str(&format!("{}{} => {{ {} }}\n", path, fields.pattern("f"), body));
    }
    Ok(format!(
        "#[automatically_derived] {} {{ fn visit<V: ::wire::Visitor>(&self, visitor: &mut V) {{ match self {{ {} }} }} }}",
        item.impl_header("::wire::Visit", "::core::fmt::Debug"),
        arms
    ))
}

#[proc_macro_derive(Visit, attributes(visit))]
pub fn derive_visit(input: TokenStream) -> TokenStream {
    expand(input, visit)
}
