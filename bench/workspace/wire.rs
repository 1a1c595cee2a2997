//! The format that all crates of this workspace speak, and the traits that go with it.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::error::Error;
use std::fmt::{self, Debug};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireError {
    Short { wanted: usize, at: usize },
    BadTag { tag: u32, at: usize },
    BadText { at: usize },
    BadLength { length: u64, at: usize },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Short { wanted, at } => write!(f, "{} more bytes wanted at {}", wanted, at),
            WireError::BadTag { tag, at } => write!(f, "unknown tag {} at {}", tag, at),
            WireError::BadText { at } => write!(f, "text at {} is not UTF-8", at),
            WireError::BadLength { length, at } => write!(f, "length {} at {} is too long", length, at),
        }
    }
}

impl Error for WireError {}

#[derive(Debug, Default, Clone)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        match end {
            Some(end) => {
                let part = &self.bytes[self.at..end];
                self.at = end;
                Ok(part)
            }
            None => Err(WireError::Short { wanted: count, at: self.at }),
        }
    }
}

pub trait Encode {
    fn encode(&self, out: &mut Writer);
}

pub trait Decode: Sized {
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError>;
}

pub trait Visitor {
    fn enter(&mut self, name: &'static str, fields: usize);
    fn field(&mut self, name: &'static str, value: &dyn Debug);
    fn leave(&mut self);
}

pub trait Visit {
    fn visit<V: Visitor>(&self, visitor: &mut V);
}

#[derive(Debug, Default)]
pub struct TextVisitor {
    pub text: String,
    depth: usize,
}

impl Visitor for TextVisitor {
    fn enter(&mut self, name: &'static str, fields: usize) {
        self.text.push_str(&format!("{}{} ({})\n", "  ".repeat(self.depth), name, fields));
        self.depth += 1;
    }

    fn field(&mut self, name: &'static str, value: &dyn Debug) {
        self.text.push_str(&format!("{}{} = {:?}\n", "  ".repeat(self.depth), name, value));
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }
}

macro_rules! fixed_size {
    ($($ty:ty),* $(,)?) => {$(
        impl Encode for $ty {
            fn encode(&self, out: &mut Writer) {
                out.put(&self.to_le_bytes());
            }
        }
        impl Decode for $ty {
            fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
                let mut raw = [0u8; std::mem::size_of::<$ty>()];
                raw.copy_from_slice(input.take(std::mem::size_of::<$ty>())?);
                Ok(<$ty>::from_le_bytes(raw))
            }
        }
    )*};
}
fixed_size!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64);

impl Encode for bool {
    fn encode(&self, out: &mut Writer) {
        out.put(&[u8::from(*self)]);
    }
}

impl Decode for bool {
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(u8::decode(input)? != 0)
    }
}

impl Encode for char {
    fn encode(&self, out: &mut Writer) {
        (*self as u32).encode(out);
    }
}

impl Decode for char {
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let at = input.position();
        char::from_u32(u32::decode(input)?).ok_or(WireError::BadText { at })
    }
}

fn decode_length(input: &mut Reader<'_>) -> Result<usize, WireError> {
    let at = input.position();
    let length = u64::decode(input)?;
    if length > 1 << 24 {
        return Err(WireError::BadLength { length, at });
    }
    Ok(length as usize)
}

impl Encode for str {
    fn encode(&self, out: &mut Writer) {
        (self.len() as u64).encode(out);
        out.put(self.as_bytes());
    }
}

impl Encode for String {
    fn encode(&self, out: &mut Writer) {
        self.as_str().encode(out);
    }
}

impl Decode for String {
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let length = decode_length(input)?;
        let at = input.position();
        match std::str::from_utf8(input.take(length)?) {
            Ok(text) => Ok(text.to_string()),
            Err(_) => Err(WireError::BadText { at }),
        }
    }
}

impl<T: Encode> Encode for Option<T> {
    fn encode(&self, out: &mut Writer) {
        match self {
            None => out.put(&[0]),
            Some(value) => {
                out.put(&[1]);
                value.encode(out);
            }
        }
    }
}

impl<T: Decode> Decode for Option<T> {
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let at = input.position();
        match u8::decode(input)? {
            0 => Ok(None),
            1 => T::decode(input).map(Some),
            tag => Err(WireError::BadTag { tag: u32::from(tag), at }),
        }
    }
}

impl<T: Encode, E: Encode> Encode for Result<T, E> {
    fn encode(&self, out: &mut Writer) {
        match self {
            Ok(value) => {
                out.put(&[0]);
                value.encode(out);
            }
            Err(value) => {
                out.put(&[1]);
                value.encode(out);
            }
        }
    }
}

impl<T: Decode, E: Decode> Decode for Result<T, E> {
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let at = input.position();
        match u8::decode(input)? {
            0 => T::decode(input).map(Ok),
            1 => E::decode(input).map(Err),
            tag => Err(WireError::BadTag { tag: u32::from(tag), at }),
        }
    }
}

macro_rules! pointer_like {
    ($($outer:ident),*) => {$(
        impl<T: Encode + ?Sized> Encode for $outer<T> {
            fn encode(&self, out: &mut Writer) {
                (**self).encode(out);
            }
        }
        impl<T: Decode> Decode for $outer<T> {
            fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
                T::decode(input).map($outer::new)
            }
        }
    )*};
}
pointer_like!(Box, Rc);

macro_rules! sequence {
    ($($outer:ident [$($bound:tt)*]),* $(,)?) => {$(
        impl<T: Encode> Encode for $outer<T> {
            fn encode(&self, out: &mut Writer) {
                (self.len() as u64).encode(out);
                for value in self {
                    value.encode(out);
                }
            }
        }
        impl<T: Decode + $($bound)*> Decode for $outer<T> {
            fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
                let length = decode_length(input)?;
                (0..length).map(|_| T::decode(input)).collect()
            }
        }
    )*};
}
sequence!(Vec [], VecDeque [], BTreeSet [Ord]);

impl<T: Encode> Encode for [T] {
    fn encode(&self, out: &mut Writer) {
        (self.len() as u64).encode(out);
        for value in self {
            value.encode(out);
        }
    }
}

impl<K: Encode, V: Encode> Encode for BTreeMap<K, V> {
    fn encode(&self, out: &mut Writer) {
        (self.len() as u64).encode(out);
        for (key, value) in self {
            key.encode(out);
            value.encode(out);
        }
    }
}

impl<K: Decode + Ord, V: Decode> Decode for BTreeMap<K, V> {
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let length = decode_length(input)?;
        (0..length).map(|_| Ok((K::decode(input)?, V::decode(input)?))).collect()
    }
}

impl<T: Encode, const N: usize> Encode for [T; N] {
    fn encode(&self, out: &mut Writer) {
        for value in self {
            value.encode(out);
        }
    }
}

impl<T: Decode + Default + Copy, const N: usize> Decode for [T; N] {
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut list = [T::default(); N];
        for slot in &mut list {
            *slot = T::decode(input)?;
        }
        Ok(list)
    }
}

macro_rules! tuples {
    ($( ($($name:ident $at:tt),+) )*) => {$(
        impl<$($name: Encode),+> Encode for ($($name,)+) {
            fn encode(&self, out: &mut Writer) {
                $( self.$at.encode(out); )+
            }
        }
        impl<$($name: Decode),+> Decode for ($($name,)+) {
            fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
                Ok(($($name::decode(input)?,)+))
            }
        }
    )*};
}
tuples! {
    (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5) (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

impl Encode for () {
    fn encode(&self, _out: &mut Writer) {}
}

impl Decode for () {
    fn decode(_input: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(())
    }
}

/// What a value must be able to do to pass through the generic code of every crate here.
pub trait Item: Clone + Debug + Default + PartialEq + Encode + Decode {}

impl<T: Clone + Debug + Default + PartialEq + Encode + Decode> Item for T {}

pub fn to_bytes<T: Encode + ?Sized>(value: &T) -> Vec<u8> {
    let mut out = Writer::default();
    value.encode(&mut out);
    out.into_bytes()
}

pub fn from_bytes<T: Decode>(bytes: &[u8]) -> Result<T, WireError> {
    let mut input = Reader::new(bytes);
    let value = T::decode(&mut input)?;
    if input.is_empty() {
        Ok(value)
    } else {
        Err(WireError::BadLength { length: bytes.len() as u64, at: input.position() })
    }
}

pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

pub fn digest_of<T: Encode + ?Sized>(value: &T) -> u64 {
    digest(&to_bytes(value))
}

/// A step of a generator of numbers: good enough to fill structures the same way on each run.
pub fn next(seed: u64) -> u64 {
    let mut value = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

pub struct Counter {
    name: &'static str,
    hits: AtomicU64,
}

impl Counter {
    pub const fn new(name: &'static str) -> Self {
        Counter { name, hits: AtomicU64::new(0) }
    }

    pub fn hit(&self) -> u64 {
        self.hits.fetch_add(1, Ordering::Relaxed)
    }

    pub fn name(&self) -> &'static str {
        self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let value = (7u32, "text".to_string(), vec![Some(1i64), None], [1u8, 2, 3]);
        assert_eq!(from_bytes::<(u32, String, Vec<Option<i64>>, [u8; 3])>(&to_bytes(&value)), Ok(value));
    }

    #[test]
    fn a_cut_is_an_error() {
        let bytes = to_bytes(&vec![1u64, 2, 3]);
        for end in 0..bytes.len() {
            assert!(from_bytes::<Vec<u64>>(&bytes[..end]).is_err());
        }
    }
}
