//! JSON in which no key appears twice. With two values for one key, the reader could not know which one is meant.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use fingertip_shapes::{Error, Result as Checked};

/// The value of a JSON text.
///
/// # Errors
/// If the text is not JSON, is nested deeper than 128 levels, or has a key twice in one object. The message gives the
/// place.
pub fn parse(text: &[u8]) -> Checked<Value> {
    // The end of a text is where its last value ends.
    let mut parser = serde_json::Deserializer::from_slice(text.trim_ascii_end());
    let value = Unique.deserialize(&mut parser).and_then(|value| parser.end().map(|()| value));
    value.map_err(|error| {
        let place = match (error.line(), error.column()) {
            (1, column) => format!("column {column}"),
            (line, column) => format!("line {line}, column {column}"),
        };
        Error::invalid(place, in_words(&error.to_string()))
    })
}

/// The parser's message in the words of our own: what was expected.
fn in_words(message: &str) -> String {
    let what = message.rsplit_once(" at line ").map_or(message, |(what, _)| what);
    let words = match what {
        "EOF while parsing a list" => "expected \"]\" at the list's end, got nothing more",
        "EOF while parsing an object" => "expected \"}\" at the object's end, got nothing more",
        "EOF while parsing a string" => "expected a double quote at the text's end, got nothing more",
        "EOF while parsing a value" => "expected a value, got nothing more",
        "expected ident" | "expected value" => {
            "expected a number, a text in double quotes, true, false, null, a list or an object (JSON has no NaN and no infinity)"
        }
        "expected `:`" => "expected \":\" behind the key",
        "expected `,` or `]`" => "expected \",\" or \"]\" behind a value of a list",
        "expected `,` or `}`" => "expected \",\" or \"}\" behind a value of an object",
        "key must be a string" => "expected a key in double quotes",
        "trailing comma" => "expected another value behind the comma",
        "trailing characters" => "expected nothing behind the value",
        "invalid number" => "expected a number, as 0.5 or -1e-3",
        "number out of range" => "expected a number up to 1.8e308",
        "invalid unicode code point" => "expected text in UTF-8",
        "recursion limit exceeded" => "expected at most 128 levels of lists and objects",
        other => other,
    };
    words.to_owned()
}

struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Value, D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(Self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            if map.contains_key(&key) {
                let shown: String = key.chars().take(60).collect();
                return Err(A::Error::custom(format!("expected each key once, but \"{shown}\" stands twice")));
            }
            map.insert(key, object.next_value_seed(Self)?);
        }
        Ok(Value::Object(map))
    }
}
