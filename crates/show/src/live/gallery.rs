//! A page with scenes and tasks to open.

use std::fmt::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use candle_core::Result;

use super::http::{Request, TEXT, answer, redirect};
use super::server::LiveServer;
use crate::page::STYLE;
use fingertip_shapes::{Error, message};

const PAGE: &str = include_str!("../page/gallery.html");
/// Time that a connection has to send its request.
const PATIENCE: Duration = Duration::from_secs(5);

/// Something that can be opened.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The heading under which it stands.
    pub group: &'static str,
    /// The path in the page's address by which it is opened.
    pub path: String,
    /// The name of the scene or task.
    pub name: String,
    /// A line that describes it.
    pub title: String,
}

/// A page that lists entries and opens one at a time: the live page of what was open before ends.
#[derive(Debug)]
pub struct Gallery {
    listener: TcpListener,
    address: SocketAddr,
    entries: Vec<Entry>,
}

impl Gallery {
    /// Takes an address for the page, as [`LiveServer::start`].
    ///
    /// # Errors
    /// If the address is not available.
    pub fn new(entries: Vec<Entry>, address: &str) -> Result<Self> {
        let taken = |error: std::io::Error| Error::invalid(address, error.to_string());
        let listener = TcpListener::bind(address).map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        Ok(Self { listener, address, entries })
    }

    /// The page's address.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Serves the page until the program ends. `open` starts an entry's live page at an address.
    pub fn serve(&self, open: impl Fn(&Entry, &str) -> Result<LiveServer>) {
        let mut live = None;
        for stream in self.listener.incoming().flatten() {
            // Whatever goes wrong with a client is the client's end and nothing else.
            let _ = self.respond(stream, &mut live, &open);
        }
    }

    fn respond(
        &self,
        mut stream: TcpStream,
        live: &mut Option<LiveServer>,
        open: &impl Fn(&Entry, &str) -> Result<LiveServer>,
    ) -> std::io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let Some(request) = Request::read(&mut stream)? else {
            return answer(&mut stream, "400 Bad Request", TEXT, b"expected a request of HTTP/1.1");
        };
        let Some(host) = request.header("host").filter(|_| request.is_ours(self.address.port())) else {
            return answer(&mut stream, "403 Forbidden", TEXT, b"only this page may come here");
        };
        let named = |path: &str| self.entries.iter().find(|entry| entry.path == path);
        match (request.method.as_str(), request.path.strip_prefix("/open/").and_then(named)) {
            ("GET", None) if request.path == "/" => {
                answer(&mut stream, "200 OK", "text/html; charset=utf-8", self.page().as_bytes())
            }
            ("POST", Some(entry)) => {
                *live = None;
                match open(entry, &SocketAddr::new(self.address.ip(), 0).to_string()) {
                    Ok(server) => {
                        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
                        redirect(&mut stream, &format!("http://{name}:{}/", server.port()))?;
                        *live = Some(server);
                        Ok(())
                    }
                    Err(error) => answer(&mut stream, "500 Internal Server Error", TEXT, message(&error).as_bytes()),
                }
            }
            _ => answer(&mut stream, "404 Not Found", TEXT, b"there is no such page"),
        }
    }

    fn page(&self) -> String {
        let (mut list, mut group) = (String::new(), "");
        for entry in &self.entries {
            if entry.group != group {
                group = entry.group;
                let _ = write!(list, "<h2>{}</h2>", escaped(group));
            }
            let [path, name, title] = [&entry.path, &entry.name, &entry.title].map(|text| escaped(text));
            let _ = write!(
                list,
                "<form method=\"post\" action=\"/open/{path}\"><button>{name}<small>{title}</small></button></form>"
            );
        }
        PAGE.replace("{{style}}", STYLE).replace("{{list}}", &list)
    }
}

/// Text in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
