//! As much of HTTP as a page and its WebSocket need.

use std::io::{Read, Result, Write};
use std::net::{SocketAddr, TcpStream};

/// A request's head is not longer, bytes.
const LONGEST_HEAD: usize = 16 << 10;
/// A request has no more headers.
const MOST_HEADERS: usize = 64;

/// A page may run what is in it and talk to where it comes from, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; connect-src 'self'; \
                      img-src data:";

/// The type of plain answers.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// A request without a body.
#[derive(Debug, PartialEq)]
pub struct Request {
    /// `GET`, as a rule.
    pub method: String,
    /// What is asked for.
    pub path: String,
    headers: Vec<(String, String)>,
}

impl Request {
    /// Reads a request's head; none if it is not one.
    pub fn read(stream: &mut TcpStream) -> Result<Option<Self>> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() >= LONGEST_HEAD || stream.read(&mut byte)? == 0 {
                return Ok(None);
            }
            head.push(byte[0]);
        }
        Ok(Self::parse(&head))
    }

    /// A request's head, if these bytes are one.
    pub fn parse(head: &[u8]) -> Option<Self> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let is_complete = request.parse(head).ok()?.is_complete();
        let header = |header: &httparse::Header| {
            Some((header.name.to_ascii_lowercase(), std::str::from_utf8(header.value).ok()?.to_owned()))
        };
        let headers = request.headers.iter().map(header).collect::<Option<_>>()?;
        is_complete.then_some(Self { method: request.method?.to_owned(), path: request.path?.to_owned(), headers })
    }

    /// A header by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Does it ask for a WebSocket?
    pub fn is_upgrade(&self) -> bool {
        self.header("upgrade").is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
    }

    /// Does it come from this server's own page, or from no page, and to an address or `localhost`? A name of somebody
    /// else's that leads here would give the scripts of his page the rights of ours.
    pub fn is_ours(&self, port: u16) -> bool {
        let Some(host) = self.header("host") else { return false };
        let here = host.eq_ignore_ascii_case(&format!("localhost:{port}"));
        let address = host.parse::<SocketAddr>().is_ok_and(|address| address.port() == port);
        let same = |origin: &str| origin.strip_prefix("http://").is_some_and(|from| from.eq_ignore_ascii_case(host));
        (here || address) && self.header("origin").is_none_or(same)
    }
}

/// Sends the client elsewhere, which it asks for by GET.
pub fn redirect(stream: &mut TcpStream, to: &str) -> Result<()> {
    let head = format!(
        "HTTP/1.1 303 See Other\r\nLocation: {to}\r\nContent-Length: 0\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.flush()
}

/// Answers and ends the connection.
pub fn answer(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) -> Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nContent-Security-Policy: {POLICY}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}
