//! A client of a live world without a page.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use fingertip::show::LiveServer;
use serde_json::Value;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

pub fn host(server: &LiveServer) -> String {
    server.url().trim_start_matches("http://").trim_end_matches('/').to_owned()
}

/// What does not come within this never comes.
const PATIENCE: Duration = Duration::from_secs(40);

/// A client without a page.
pub struct Client {
    pub socket: WebSocket<MaybeTlsStream<TcpStream>>,
    pub state: Value,
}

impl Client {
    pub fn connect(server: &LiveServer) -> Self {
        let (socket, _) = tungstenite::connect(format!("ws://{}/live", host(server))).unwrap();
        Self { socket, state: Value::Null }
    }

    pub fn send(&mut self, command: &Value) {
        self.socket.send(Message::text(command.to_string())).unwrap();
    }

    /// The next frame.
    pub fn frame(&mut self) -> Vec<f32> {
        loop {
            match self.socket.read().unwrap() {
                Message::Binary(bytes) => {
                    return bytes.as_chunks().0.iter().map(|&number| f32::from_le_bytes(number)).collect();
                }
                Message::Text(text) => self.state = serde_json::from_str(&text).unwrap(),
                _ => {}
            }
        }
    }

    /// Reads until something is true, within seconds.
    pub fn until(&mut self, what: &str, mut is: impl FnMut(&[f32], &Value) -> bool) -> Vec<f32> {
        let begin = Instant::now();
        loop {
            let frame = self.frame();
            if is(&frame, &self.state) {
                return frame;
            }
            assert!(begin.elapsed() < PATIENCE, "waited until {what}; state {}", self.state);
        }
    }

    /// Reads until something is true of the state that all pages share.
    pub fn until_state(&mut self, what: &str, is: impl Fn(&Value) -> bool) {
        let begin = Instant::now();
        while !is(&self.state) {
            if let Message::Text(text) = self.socket.read().unwrap() {
                self.state = serde_json::from_str(&text).unwrap();
            }
            assert!(begin.elapsed() < PATIENCE, "waited until {what}; state {}", self.state);
        }
    }
}

pub fn get(server: &LiveServer, head: &str) -> String {
    let mut stream = TcpStream::connect(host(server)).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// An element of the page.
fn element(server: &LiveServer, id: &str) -> String {
    let page = get(server, &format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", host(server)));
    page.split(&format!("id=\"{id}\">")).nth(1).unwrap().split("</script>").next().unwrap().to_owned()
}

/// The header that the page carries.
pub fn header(server: &LiveServer) -> Value {
    serde_json::from_str(&element(server, "header")).unwrap()
}

/// The frame that the page carries: the newest.
pub fn newest(server: &LiveServer) -> Vec<f32> {
    let bytes = data_encoding::BASE64.decode(element(server, "frames").as_bytes()).unwrap();
    bytes.as_chunks().0.iter().map(|&number| f32::from_le_bytes(number)).collect()
}

/// Place of a number in a frame.
pub fn place(header: &Value, list: &str, name: &str) -> usize {
    let names = header["scene"][format!("{list}_names")].as_array().unwrap();
    let at = names.iter().position(|n| n == name).unwrap();
    at + usize::try_from(header["layout"][list].as_u64().unwrap()).unwrap()
}

pub fn body(header: &Value, name: &str) -> usize {
    header["scene"]["bodies"].as_array().unwrap().iter().position(|body| body["name"] == name).unwrap()
}

/// Where a body's pose begins in a frame.
pub fn pose(header: &Value, body: usize) -> usize {
    7 * body + usize::try_from(header["layout"]["poses"].as_u64().unwrap()).unwrap()
}

/// How far a body's frame is from a point, m.
pub fn distance(frame: &[f32], pose: usize, point: [f64; 3]) -> f64 {
    (0..3).map(|k| (f64::from(frame[pose + k]) - point[k]).powi(2)).sum::<f64>().sqrt()
}
