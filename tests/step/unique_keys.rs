//! JSON in which no key appears twice.

use fingertip::overrides::parse;
use serde_json::Value;

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
    for text in [r#"{"q": 1, "q": 2}"#, r#"{"params": {"h": 1, "kappa": 2, "h": 1}}"#, r#"[{"a": 1, "\u0061": 1}]"#] {
        let error = parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("stands twice") && error.starts_with("column "), "{error}");
    }
}

#[test]
fn errors_say_what_was_expected_and_where() {
    for (text, expected) in [
        ("[1, 2\n", "column 5: expected \"]\""),
        ("{q: 1}", "column 2: expected a key in double quotes"),
        ("{\"q\": nan}", "JSON has no NaN"),
        ("{\"q\": NaN}", "JSON has no NaN"),
        ("{\n\"q\": [1,]}", "line 2, column 9: expected another value"),
        ("{\"q\" 1}", "expected \":\""),
        ("{} 2", "expected nothing behind"),
    ] {
        let error = parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
