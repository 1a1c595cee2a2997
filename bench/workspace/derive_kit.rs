//! Reads the items that derive macros are put on, straight from tokens.
extern crate proc_macro;

use proc_macro::{Delimiter, Group, Ident, TokenStream, TokenTree};
use std::fmt;
use std::iter::Peekable;

type Tokens = Peekable<proc_macro::token_stream::IntoIter>;

#[derive(Debug, Clone)]
pub struct Attribute {
    pub path: String,
    pub arguments: String,
}

#[derive(Debug, Clone)]
pub struct Field {
    pub name: String,
    pub ty: String,
    pub attributes: Vec<Attribute>,
}

#[derive(Debug, Clone)]
pub enum Fields {
    Unit,
    Tuple(Vec<Field>),
    Named(Vec<Field>),
}

#[derive(Debug, Clone)]
pub struct Variant {
    pub name: String,
    pub fields: Fields,
}

#[derive(Debug, Clone)]
pub enum Shape {
    Struct(Fields),
    Enum(Vec<Variant>),
}

#[derive(Debug, Clone)]
pub struct Parameter {
    pub name: String,
    pub bounds: String,
    pub is_const: bool,
    pub is_lifetime: bool,
}

#[derive(Debug, Clone)]
pub struct Item {
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub attributes: Vec<Attribute>,
    pub shape: Shape,
}

#[derive(Debug)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Refusal {
    pub fn into_tokens(self) -> TokenStream {
        format!("::core::compile_error!({:?});", self.0).parse().unwrap()
    }
}

impl Fields {
    pub fn list(&self) -> &[Field] {
        match self {
            Fields::Unit => &[],
            Fields::Tuple(list) | Fields::Named(list) => list,
        }
    }

    /// A pattern that binds every field to `prefix` plus its position.
    pub fn pattern(&self, prefix: &str) -> String {
        let mut text = String::new();
        match self {
            Fields::Unit => {}
            Fields::Tuple(list) => {
                text.push('(');
                for at in 0..list.len() {
                    text.push_str(&format!("{}{}, ", prefix, at));
                }
                text.push(')');
            }
            Fields::Named(list) => {
                text.push('{');
                for (at, field) in list.iter().enumerate() {
                    text.push_str(&format!("{}: {}{}, ", field.name, prefix, at));
                }
                text.push('}');
            }
        }
        text
    }

    /// An expression that makes the fields, each by `make`.
    pub fn construct(&self, mut make: impl FnMut(&Field, usize) -> String) -> String {
        let parts: Vec<String> = self.list().iter().enumerate().map(|(at, field)| make(field, at)).collect();
        match self {
            Fields::Unit => String::new(),
            Fields::Tuple(_) => format!("({})", parts.join(", ")),
            Fields::Named(list) => {
                let named: Vec<String> =
                    list.iter().zip(&parts).map(|(field, part)| format!("{}: {}", field.name, part)).collect();
                format!("{{ {} }}", named.join(", "))
            }
        }
    }
}

impl Item {
    /// `impl<'a, T: Old + Extra> Trait for Name<'a, T>`
    pub fn impl_header(&self, path: &str, extra: &str) -> String {
        let mut declared = Vec::new();
        let mut used = Vec::new();
        for parameter in &self.parameters {
            used.push(parameter.name.clone());
            if parameter.is_const {
                declared.push(format!("const {}: {}", parameter.name, parameter.bounds));
            } else if parameter.is_lifetime {
                declared.push(parameter.name.clone());
            } else if parameter.bounds.is_empty() {
                declared.push(format!("{}: {}", parameter.name, extra));
            } else {
                declared.push(format!("{}: {} + {}", parameter.name, parameter.bounds, extra));
            }
        }
        if declared.is_empty() {
            return format!("impl {} for {}", path, self.name);
        }
        format!("impl<{}> {} for {}<{}>", declared.join(", "), path, self.name, used.join(", "))
    }

    pub fn variants(&self) -> Vec<(String, Fields)> {
        match &self.shape {
            Shape::Struct(fields) => vec![(self.name.clone(), fields.clone())],
            Shape::Enum(list) => list
                .iter()
                .map(|variant| (format!("{}::{}", self.name, variant.name), variant.fields.clone()))
                .collect(),
        }
    }
}

pub fn has_attribute(attributes: &[Attribute], path: &str, word: &str) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.path == path && attribute.arguments.split(',').any(|part| part.trim() == word))
}

pub fn attribute_value(attributes: &[Attribute], path: &str, key: &str) -> Option<String> {
    for attribute in attributes.iter().filter(|attribute| attribute.path == path) {
        for part in attribute.arguments.split(',') {
            let mut halves = part.splitn(2, '=');
            let name = halves.next().unwrap_or("").trim();
            if name == key {
                return halves.next().map(|value| value.trim().trim_matches('"').to_string());
            }
        }
    }
    None
}

fn is_punct(tree: Option<&TokenTree>, wanted: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn take_ident(tokens: &mut Tokens, what: &str) -> Result<Ident, Refusal> {
    match tokens.next() {
        Some(TokenTree::Ident(ident)) => Ok(ident),
        Some(other) => Err(Refusal(format!("expected {}, found `{}`", what, other))),
        None => Err(Refusal(format!("expected {}, found the end", what))),
    }
}

fn take_attributes(tokens: &mut Tokens) -> Vec<Attribute> {
    let mut found = Vec::new();
    while is_punct(tokens.peek(), '#') {
        tokens.next();
        if let Some(TokenTree::Group(group)) = tokens.next() {
            let mut inner = group.stream().into_iter();
            let path = inner.next().map(|tree| tree.to_string()).unwrap_or_default();
            let arguments = match inner.next() {
                Some(TokenTree::Group(list)) => list.stream().to_string(),
                _ => String::new(),
            };
            found.push(Attribute { path, arguments });
        }
    }
    found
}

fn skip_visibility(tokens: &mut Tokens) {
    if matches!(tokens.peek(), Some(TokenTree::Ident(ident)) if ident.to_string() == "pub") {
        tokens.next();
        if matches!(tokens.peek(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis) {
            tokens.next();
        }
    }
}

/// Tokens of a type up to a comma that no angle bracket encloses.
fn take_until_comma(tokens: &mut Tokens) -> String {
    let mut depth = 0i32;
    let mut taken = Vec::new();
    let mut previous = ' ';
    while let Some(tree) = tokens.peek() {
        let mut current = ' ';
        if let TokenTree::Punct(punct) = tree {
            current = punct.as_char();
            match current {
                ',' if depth == 0 => break,
                '<' => depth += 1,
                '>' if previous != '-' => depth -= 1,
                _ => {}
            }
        }
        previous = current;
        taken.push(tokens.next().unwrap());
    }
    tokens.next();
    taken.into_iter().collect::<TokenStream>().to_string()
}

fn named_fields(group: &Group) -> Result<Vec<Field>, Refusal> {
    let mut tokens = group.stream().into_iter().peekable();
    let mut list = Vec::new();
    while tokens.peek().is_some() {
        let attributes = take_attributes(&mut tokens);
        skip_visibility(&mut tokens);
        let name = take_ident(&mut tokens, "a field name")?.to_string();
        if !is_punct(tokens.next().as_ref(), ':') {
            return Err(Refusal(format!("expected `:` after field {}", name)));
        }
        let ty = take_until_comma(&mut tokens);
        list.push(Field { name, ty, attributes });
    }
    Ok(list)
}

fn tuple_fields(group: &Group) -> Vec<Field> {
    let mut tokens = group.stream().into_iter().peekable();
    let mut list = Vec::new();
    while tokens.peek().is_some() {
        let attributes = take_attributes(&mut tokens);
        skip_visibility(&mut tokens);
        let ty = take_until_comma(&mut tokens);
        list.push(Field { name: list.len().to_string(), ty, attributes });
    }
    list
}

fn take_parameters(tokens: &mut Tokens) -> Result<Vec<Parameter>, Refusal> {
    let mut list = Vec::new();
    if !is_punct(tokens.peek(), '<') {
        return Ok(list);
    }
    tokens.next();
    loop {
        match tokens.peek() {
            Some(TokenTree::Punct(punct)) if punct.as_char() == '>' => {
                tokens.next();
                return Ok(list);
            }
            None => return Err(Refusal("generic parameters never end".to_string())),
            _ => {}
        }
        let is_lifetime = is_punct(tokens.peek(), '\'');
        if is_lifetime {
            tokens.next();
        }
        let first = take_ident(tokens, "a generic parameter")?.to_string();
        let is_const = first == "const";
        let name = if is_const { take_ident(tokens, "a const parameter")?.to_string() } else { first };
        let mut bounds = String::new();
        if is_punct(tokens.peek(), ':') {
            tokens.next();
            let mut depth = 0i32;
            let mut taken = Vec::new();
            while let Some(tree) = tokens.peek() {
                if let TokenTree::Punct(punct) = tree {
                    match punct.as_char() {
                        ',' if depth == 0 => break,
                        '<' => depth += 1,
                        '>' if depth == 0 => break,
                        '>' => depth -= 1,
                        _ => {}
                    }
                }
                taken.push(tokens.next().unwrap());
            }
            bounds = taken.into_iter().collect::<TokenStream>().to_string();
        }
        if is_punct(tokens.peek(), ',') {
            tokens.next();
        }
        let name = if is_lifetime { format!("'{}", name) } else { name };
        list.push(Parameter { name, bounds, is_const, is_lifetime });
    }
}

fn variants(group: &Group) -> Result<Vec<Variant>, Refusal> {
    let mut tokens = group.stream().into_iter().peekable();
    let mut list = Vec::new();
    while tokens.peek().is_some() {
        take_attributes(&mut tokens);
        let name = take_ident(&mut tokens, "a variant name")?.to_string();
        let fields = match tokens.peek() {
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
                let found = named_fields(body)?;
                tokens.next();
                Fields::Named(found)
            }
            Some(TokenTree::Group(body)) => {
                let found = tuple_fields(body);
                tokens.next();
                Fields::Tuple(found)
            }
            _ => Fields::Unit,
        };
        take_until_comma(&mut tokens);
        list.push(Variant { name, fields });
    }
    Ok(list)
}

pub fn parse_item(input: TokenStream) -> Result<Item, Refusal> {
    let mut tokens = input.into_iter().peekable();
    let attributes = take_attributes(&mut tokens);
    skip_visibility(&mut tokens);
    let keyword = take_ident(&mut tokens, "`struct` or `enum`")?.to_string();
    let name = take_ident(&mut tokens, "a type name")?.to_string();
    let parameters = take_parameters(&mut tokens)?;
    let body = loop {
        match tokens.next() {
            Some(TokenTree::Group(group)) if group.delimiter() != Delimiter::Bracket => break Some(group),
            Some(TokenTree::Punct(punct)) if punct.as_char() == ';' => break None,
            Some(_) => continue,
            None => break None,
        }
    };
    let shape = match (keyword.as_str(), body) {
        ("struct", None) => Shape::Struct(Fields::Unit),
        ("struct", Some(group)) if group.delimiter() == Delimiter::Parenthesis => {
            Shape::Struct(Fields::Tuple(tuple_fields(&group)))
        }
        ("struct", Some(group)) => Shape::Struct(Fields::Named(named_fields(&group)?)),
        ("enum", Some(group)) => Shape::Enum(variants(&group)?),
        _ => return Err(Refusal(format!("`{}` is not supported here", keyword))),
    };
    Ok(Item { name, parameters, attributes, shape })
}

/// Parses `make`'s text; text that is no Rust becomes a compile error that shows it.
pub fn expand(input: TokenStream, make: impl Fn(&Item) -> Result<String, Refusal>) -> TokenStream {
    let text = match parse_item(input).and_then(|item| make(&item)) {
        Ok(text) => text,
        Err(refusal) => return refusal.into_tokens(),
    };
    match text.parse() {
        Ok(tokens) => tokens,
        Err(_) => Refusal(format!("generated text is not Rust: {}", text)).into_tokens(),
    }
}
