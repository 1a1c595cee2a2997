//! `#[derive(Encode, Decode)]` for the wire format.
extern crate proc_macro;

use derive_kit::{expand, has_attribute, Fields, Item, Refusal, Shape};
use proc_macro::TokenStream;

fn encode_fields(fields: &Fields) -> String {
    let mut text = String::new();
    for (at, field) in fields.list().iter().enumerate() {
        if !has_attribute(&field.attributes, "wire", "skip") {
            text.push_str(&format!("::wire::Encode::encode(f{}, out);\n", at));
        } else {
            text.push_str(&format!("let _ = f{};\n", at));
        }
    }
    text
}

fn encode(item: &Item) -> Result<String, Refusal> {
    let mut arms = String::new();
    for (index, (path, fields)) in item.variants().into_iter().enumerate() {
        let tag = match item.shape {
            Shape::Enum(_) => format!("::wire::Encode::encode(&{}u32, out);\n", index),
            Shape::Struct(_) => String::new(),
        };
        arms.push_str(&format!("{}{} => {{ {} {} }}\n", path, fields.pattern("f"), tag, encode_fields(&fields)));
    }
    Ok(format!(
        "#[automatically_derived] {} {{ fn encode(&self, out: &mut ::wire::Writer) {{ match self {{ {} }} }} }}",
        item.impl_header("::wire::Encode", "::wire::Encode"),
        arms
    ))
}

fn decode(item: &Item) -> Result<String, Refusal> {
    let make = |path: &str, fields: &Fields| {
        let built = fields.construct(|field, _| {
            if has_attribute(&field.attributes, "wire", "skip") {
                format!("<{} as ::core::default::Default>::default()", field.ty)
            } else {
                format!("<{} as ::wire::Decode>::decode(input)?", field.ty)
            }
        });
        format!("::core::result::Result::Ok({} {})", path, built)
    };
    let body = match &item.shape {
        Shape::Struct(fields) => make(&item.name, fields),
        Shape::Enum(_) => {
            let mut arms = String::new();
            for (index, (path, fields)) in item.variants().into_iter().enumerate() {
                arms.push_str(&format!("{}u32 => {},\n", index, make(&path, &fields)));
            }
            format!(
                "match <u32 as ::wire::Decode>::decode(input)? {{ {} other => \
                 ::core::result::Result::Err(::wire::WireError::BadTag {{ tag: other, at: input.position() }}) }}",
                arms
            )
        }
    };
    Ok(format!(
        "#[automatically_derived] {} {{ fn decode(input: &mut ::wire::Reader<'_>) -> \
         ::core::result::Result<Self, ::wire::WireError> {{ {} }} }}",
        item.impl_header("::wire::Decode", "::wire::Decode + ::core::default::Default"),
        body
    ))
}

#[proc_macro_derive(Encode, attributes(wire))]
pub fn derive_encode(input: TokenStream) -> TokenStream {
    expand(input, encode)
}

#[proc_macro_derive(Decode, attributes(wire))]
pub fn derive_decode(input: TokenStream) -> TokenStream {
    expand(input, decode)
}
