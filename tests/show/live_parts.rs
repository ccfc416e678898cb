//! Commands, requests and files of the live server.

use std::path::Path;

use fingertip_show::inner::{Command, Request, numbered};

#[test]
fn letting_go_is_not_silence() {
    assert_eq!(Command::parse("{}").unwrap().pull, None);
    assert_eq!(Command::parse(r#"{"pull": null}"#).unwrap().pull, Some(None));
    let pull = Command::parse(r#"{"pull": {"body": 1, "at": [0, 0, 0], "to": [0, 0, 1]}}"#).unwrap().pull;
    assert_eq!(pull.flatten().unwrap().to, [0.0, 0.0, 1.0]);
    for bad in ["", "7", r#"{"pull": {"body": -1}}"#, r#"{"jump": 1}"#, r#"{"set": {"h": "x"}}"#] {
        assert!(Command::parse(bad).is_err(), "{bad}");
    }
}

fn request(headers: &str) -> Request {
    Request::parse(format!("GET / HTTP/1.1\r\n{headers}\r\n\r\n").as_bytes()).unwrap()
}

#[test]
fn other_origins_and_names_are_not_ours() {
    assert!(request("Host: 127.0.0.1:7000").is_ours(7000));
    assert!(request("Host: [::1]:7000\r\nOrigin: http://[::1]:7000").is_ours(7000));
    assert!(request("Host: LOCALHOST:7000\r\nOrigin: http://localhost:7000").is_ours(7000));
    for bad in [
        "Accept: */*",
        "Host: evil.example:7000",
        "Host: 127.0.0.1:7001",
        "Host: 127.0.0.1:7000\r\nOrigin: http://localhost:7000",
        "Host: 127.0.0.1:7000\r\nOrigin: http://evil.example",
        "Host: 127.0.0.1:7000\r\nOrigin: https://127.0.0.1:7000",
        "Host: 127.0.0.1:7000\r\nOrigin: null",
    ] {
        assert!(!request(bad).is_ours(7000), "{bad}");
    }
}

#[test]
fn what_is_no_request_is_none() {
    for bad in
        ["", "GET", "GET / HTTP/1.1\r\nHost: a\r\n", "GET / SPDY/9\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n"]
    {
        assert_eq!(Request::parse(bad.as_bytes()), None, "{bad}");
    }
}

#[test]
fn later_files_are_numbered() {
    assert_eq!(numbered(Path::new("out/run.mcap"), 2), Path::new("out/run-2.mcap"));
    assert_eq!(numbered(Path::new("run"), 3), Path::new("run-3"));
}
