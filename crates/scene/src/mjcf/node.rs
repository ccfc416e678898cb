//! An element with the defaults of its class: attributes as text, numbers and words.

use super::document::{Document, Element};
use fingertip_shapes::{Error, Result};

/// An element, and the elements whose attributes stand in for those that it lacks, the nearest first.
#[derive(Clone)]
pub(super) struct Node<'a> {
    document: &'a Document,
    element: &'a Element,
    defaults: Vec<&'a Element>,
}

impl Document {
    pub(super) fn root(&self) -> Node<'_> {
        Node::new(self, &self.root)
    }

    /// All elements of sections with this tag, in the order of the document.
    pub(super) fn sections<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = Node<'a>> {
        self.note_read(tag, "");
        self.root().children().filter(move |node| node.tag() == tag)
    }
}

impl<'a> Node<'a> {
    pub(super) fn new(document: &'a Document, element: &'a Element) -> Self {
        Self { document, element, defaults: Vec::new() }
    }

    pub(super) fn with_defaults(mut self, defaults: Vec<&'a Element>) -> Self {
        self.defaults = defaults;
        self
    }

    /// Another element of the document.
    pub(super) fn beside(&self, element: &'a Element) -> Self {
        Self::new(self.document, element)
    }

    pub(super) fn tag(&self) -> &'a str {
        &self.element.tag
    }

    pub(super) fn element(&self) -> &'a Element {
        self.element
    }

    pub(super) fn children(&self) -> impl Iterator<Item = Node<'a>> + use<'a> {
        let document = self.document;
        self.element.children.iter().map(move |element| Self::new(document, element))
    }

    /// An attribute of its own.
    pub(super) fn own(&self, name: &str) -> Option<&'a str> {
        self.document.note_read(&self.element.tag, name);
        attribute(self.element, name)
    }

    /// An attribute for a note on what is left out: it does not count as read.
    pub(super) fn named(&self, name: &str) -> Option<&'a str> {
        attribute(self.element, name)
    }

    /// An attribute of its own or of its defaults.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.own(name).or_else(|| self.defaults.iter().find_map(|element| attribute(element, name)))
    }

    /// The nearest of several attributes that exclude each other.
    pub(super) fn one_of(&self, names: &[&'static str]) -> Result<Option<(&'static str, &'a str)>> {
        names.iter().for_each(|name| self.document.note_read(&self.element.tag, name));
        for element in std::iter::once(&self.element).chain(&self.defaults) {
            let mut found = names.iter().filter_map(|&name| Some((name, attribute(element, name)?)));
            match (found.next(), found.next()) {
                (Some((one, _)), Some((other, _))) => {
                    return Err(self.invalid(one, format!("expected this or {other}, got both")));
                }
                (Some(found), None) => return Ok(Some(found)),
                _ => {}
            }
        }
        Ok(None)
    }

    pub(super) fn list(&self, name: &str) -> Result<Option<Vec<f64>>> {
        self.text(name).map(|text| self.parse(name, text)).transpose()
    }

    /// The numbers of an attribute's text.
    pub(super) fn parse(&self, name: &str, text: &str) -> Result<Vec<f64>> {
        let number = |word: &str| word.parse::<f64>().ok().filter(|number| number.is_finite());
        let numbers = text.split_ascii_whitespace().map(|word| number(word).ok_or(word));
        numbers.collect::<std::result::Result<_, _>>().map_err(|word| {
            let message = format!("expected finite numbers, got \"{word}\"");
            self.invalid(name, message)
        })
    }

    /// Exactly N numbers.
    pub(super) fn numbers<const N: usize>(&self, name: &str) -> Result<Option<[f64; N]>> {
        self.text(name).map(|text| self.exactly(name, text)).transpose()
    }

    /// Exactly N numbers of a text, which is the value of the attribute `name`.
    pub(super) fn exactly<const N: usize>(&self, name: &str, text: &str) -> Result<[f64; N]> {
        let numbers = self.parse(name, text)?;
        numbers.try_into().map_err(|numbers: Vec<f64>| {
            let s = if N == 1 { "" } else { "s" };
            self.invalid(name, format!("expected {N} number{s}, got {}", numbers.len()))
        })
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<f64>> {
        Ok(self.numbers::<1>(name)?.map(|[number]| number))
    }

    /// Up to N numbers; those that are missing are those of the defaults, or else `default`.
    pub(super) fn filled<const N: usize>(&self, name: &str, default: [f64; N]) -> Result<[f64; N]> {
        self.document.note_read(&self.element.tag, name);
        let mut filled = default;
        for element in self.defaults.iter().rev().chain([&self.element]) {
            let Some(text) = attribute(element, name) else { continue };
            let numbers = self.parse(name, text)?;
            if numbers.len() > N {
                return Err(self.invalid(name, format!("expected at most {N} numbers, got {}", numbers.len())));
            }
            filled[..numbers.len()].copy_from_slice(&numbers);
        }
        Ok(filled)
    }

    /// An integer that fits, as of a bit mask or a group.
    pub(super) fn integer(&self, name: &str) -> Result<Option<i64>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let invalid = || self.invalid(name, format!("expected an integer, got \"{text}\""));
        text.trim().parse().map(Some).map_err(|_| invalid())
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>> {
        Ok(self.word(name, &["false", "true"])?.map(|word| word == "true"))
    }

    /// "auto", which is none, or a flag.
    pub(super) fn flag_or_auto(&self, name: &str) -> Result<Option<bool>> {
        let word = self.word(name, &["auto", "false", "true"])?;
        Ok(word.filter(|word| *word != "auto").map(|word| word == "true"))
    }

    /// One of some words.
    pub(super) fn word(&self, name: &str, words: &[&'static str]) -> Result<Option<&'static str>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let found = words.iter().copied().find(|word| *word == text.trim());
        let expected = || self.invalid(name, format!("expected one of {}, got \"{text}\"", words.join(", ")));
        found.map(Some).ok_or_else(expected)
    }

    /// The value of an attribute that must be there.
    pub(super) fn required(&self, name: &str) -> Result<&'a str> {
        self.text(name).ok_or_else(|| self.invalid(name, "expected it, got none"))
    }

    /// The element's file, line and tag, and its name if it has one.
    pub(super) fn place(&self) -> String {
        let file = self.document.files[self.element.file].display();
        let name = attribute(self.element, "name").map_or_else(String::new, |name| format!(" \"{name}\""));
        format!("{file}: line {}: {}{name}", self.element.line, self.element.tag)
    }

    pub(super) fn invalid(&self, attribute: &str, message: impl Into<String>) -> Error {
        let place = if attribute.is_empty() { self.place() } else { format!("{}: {attribute}", self.place()) };
        Error::invalid(place, message)
    }
}

/// An attribute's value. As in MuJoCo one without text is none.
fn attribute<'a>(element: &'a Element, name: &str) -> Option<&'a str> {
    let found = element.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
    found.filter(|value| !value.trim_ascii().is_empty())
}
