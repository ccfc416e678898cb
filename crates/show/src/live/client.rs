//! A client's thread: frames out, commands in.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

use super::command::Command;
use super::http::Request;
use super::newest::Newest;
use super::world::Order;

/// A command is not longer, bytes.
const LONGEST_COMMAND: usize = 64 << 10;
/// Time for which a client's thread listens for commands before it looks for a new frame.
const LISTEN: Duration = Duration::from_millis(6);
/// A client that takes nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(2);

/// Accepts a WebSocket and serves it until it closes, breaks, sends what is no command's form, or stops reading.
pub fn serve(
    mut stream: TcpStream,
    request: &Request,
    id: u64,
    orders: &SyncSender<Order>,
    newest: &Arc<Newest>,
    stop: &AtomicBool,
) -> tungstenite::Result<()> {
    let key = request.header("sec-websocket-key").unwrap_or_default();
    let accept = derive_accept_key(key.as_bytes());
    write!(
        stream,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    )?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LISTEN))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let config =
        WebSocketConfig::default().max_message_size(Some(LONGEST_COMMAND)).max_frame_size(Some(LONGEST_COMMAND));
    let mut socket = WebSocket::from_raw_socket(stream, Role::Server, Some(config));
    let outcome = exchange(&mut socket, id, orders, newest, stop);
    // The simulator may have gone first.
    let _ = orders.send((id, None));
    outcome
}

fn exchange(
    socket: &mut WebSocket<TcpStream>,
    id: u64,
    orders: &SyncSender<Order>,
    newest: &Newest,
    stop: &AtomicBool,
) -> tungstenite::Result<()> {
    let (mut n_frames, mut n_states) = (0, 0);
    // Until it says otherwise. The order wakes a world that rests.
    let mut look = Some(newest.look());
    if orders.send((id, Some(Command::default()))).is_err() {
        return socket.close(None);
    }
    while !stop.load(Ordering::Relaxed) {
        match socket.read() {
            Ok(Message::Text(text)) => match Command::parse(&text) {
                // Waits where the queue is full: a client that sends too much is slowed down.
                Ok(command) => {
                    match command.look {
                        Some(true) if look.is_none() => look = Some(newest.look()),
                        Some(false) => look = None,
                        _ => {}
                    }
                    if orders.send((id, Some(command))).is_err() {
                        break;
                    }
                }
                Err(error) => socket.send(Message::text(serde_json::json!({ "error": error }).to_string()))?,
            },
            Ok(Message::Close(_)) => break,
            Ok(_) => {}
            Err(Error::Io(error)) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
        let news = newest.read();
        if news.n_states > n_states {
            n_states = news.n_states;
            socket.send(Message::text(&*news.state))?;
        }
        if news.n_frames > n_frames {
            n_frames = news.n_frames;
            socket.send(Message::binary(news.frame.to_vec()))?;
        }
    }
    socket.close(None)
}
