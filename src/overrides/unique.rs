//! JSON in which no key appears twice. With two values for one key, the reader could not know which one is meant.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The value of a JSON text.
///
/// # Errors
/// If the text is not JSON, is nested deeper than 128 levels, or has a key twice in one object. The message gives the
/// place.
pub fn parse(text: &[u8]) -> serde_json::Result<Value> {
    let mut parser = serde_json::Deserializer::from_slice(text);
    let value = Unique.deserialize(&mut parser)?;
    parser.end()?;
    Ok(value)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_serde_json_reads() {
        for text in
            [r#"{"a": [1, -2, 3.5, 1e300, true, null, "x\n"], "b": {"a": {}}}"#, "[]", "18446744073709551615", "-0.0"]
        {
            assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        }
        for text in ["", "{", "[1,]", "{\"a\": 1} 2", "1e999", "\u{1}", &"[".repeat(1000)] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(&[b'"', 0xff, b'"']).is_err());
    }

    #[test]
    fn a_key_that_stands_twice_is_an_error_at_every_depth() {
        for text in [r#"{"q": 1, "q": 2}"#, r#"{"params": {"h": 1, "kappa": 2, "h": 1}}"#, r#"[{"a": 1, "\u0061": 1}]"#]
        {
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("stands twice") && error.contains("line 1 column"), "{error}");
        }
    }
}
