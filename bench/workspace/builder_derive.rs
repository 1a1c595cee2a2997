//! `#[derive(Builder)]`: a builder with one setter a field.
extern crate proc_macro;

use derive_kit::{expand, Fields, Item, Refusal, Shape};
use proc_macro::TokenStream;

fn builder(item: &Item) -> Result<String, Refusal> {
    let fields = match &item.shape {
        Shape::Struct(Fields::Named(list)) if item.parameters.is_empty() => list,
        _ => return Err(Refusal(format!("Builder needs a plain struct with named fields, {} is none", item.name))),
    };
    let name = format!("{}Builder", item.name);
    let mut declared = String::new();
    let mut setters = String::new();
    let mut finish = String::new();
    for field in fields {
        declared.push_str(&format!("{}: ::core::option::Option<{}>,\n", field.name, field.ty));
        setters.push_str(&format!(
            "#[must_use] pub fn {0}(mut self, value: impl ::core::convert::Into<{1}>) -> Self \
             {{ self.{0} = ::core::option::Option::Some(value.into()); self }}\n",
            field.name, field.ty
        ));
        finish.push_str(&format!(
            "{0}: match self.{0} {{ ::core::option::Option::Some(value) => value, \
             ::core::option::Option::None => return ::core::result::Result::Err(\"{0}\") }},\n",
            field.name
        ));
    }
    Ok(format!(
        "#[derive(Default, Clone, Debug)] pub struct {name} {{ {declared} }}\n\
         impl {name} {{ {setters} pub fn finish(self) -> ::core::result::Result<{item}, &'static str> \
         {{ ::core::result::Result::Ok({item} {{ {finish} }}) }} }}\n\
         impl {item} {{ pub fn builder() -> {name} {{ ::core::default::Default::default() }} }}",
        name = name,
        declared = declared,
        setters = setters,
        item = item.name,
        finish = finish
    ))
}

#[proc_macro_derive(Builder)]
pub fn derive_builder(input: TokenStream) -> TokenStream {
    expand(input, builder)
}
