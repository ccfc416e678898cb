//! The server of a live page.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use candle_core::Result;
use data_encoding::BASE64;
use serde_json::Value;

use super::http::{Request, TEXT, answer};
use super::mirror::{Mirror, Next, Shown};
use super::newest::Newest;
use super::simulator::Simulator;
use super::tape::Tape;
use super::world::{Order, QUEUE, World};
use super::{client, http};
use crate::page;
use crate::source::Source;
use fingertip_plan::mpc::Task;
use fingertip_shapes::Error;
use fingertip_step::step::Quasidynamic;

/// Clients at a time; further ones are turned away.
const MOST_CLIENTS: usize = 128;
/// The path under which the last recording is served.
const RECORDING: &str = "/recording.mcap";
/// Time that a new connection has to send its request.
const PATIENCE: Duration = Duration::from_secs(5);

/// A live simulation of a scene, which pages show and can pull at. It rests while no page is seen, unless it is
/// recorded, and stops when this value is dropped.
pub struct LiveServer {
    address: SocketAddr,
    left_out: Vec<String>,
    stop: Arc<AtomicBool>,
    world: Option<JoinHandle<Result<()>>>,
    door: Option<JoinHandle<()>>,
}

/// Data that all connections share: header, port, newest frame, command queue, stop flag.
struct Shared {
    header: Value,
    port: u16,
    newest: Arc<Newest>,
    orders: SyncSender<Order>,
    stop: Arc<AtomicBool>,
    n_clients: AtomicUsize,
}

impl LiveServer {
    /// Simulates a scene and serves its page at an address, `"127.0.0.1:0"` for any free port of this machine. All that
    /// happens is recorded in the file `record`, if there is one, until this value is dropped; after a reset in another
    /// file beside it: `run.mcap`, `run-2.mcap`.
    ///
    /// # Errors
    /// If the address is not available, the file cannot be written, or the scene's first step is an error.
    pub fn start(source: Source, step: Quasidynamic, address: &str, record: Option<&Path>) -> Result<Self> {
        Self::serve(address, |newest| Simulator::new(source, step, None, Tape::new(record), newest))
    }

    /// Runs a task by model-predictive control and serves the page that shows it. Pages may begin any episode, and
    /// disturb it. The plant is the task's scene with its own `kappa`, 1/J. `seed` is the seed of random draws.
    /// `record` is as in [`LiveServer::start`]; another goal begins another file too.
    ///
    /// The controller plans each period while the previous one runs. If it takes longer, the world waits.
    ///
    /// # Errors
    /// If the address is not available, the file cannot be written, or the task's first episode is an error.
    pub fn task(task: Task, kappa: f64, seed: u64, address: &str, record: Option<&Path>) -> Result<Self> {
        let plant = task.simulator().with_kappa(kappa)?;
        let source = Source::of_task(&task);
        Self::serve(address, |newest| {
            Simulator::new(source, plant.step().clone(), Some((task, seed)), Tape::new(record), newest)
        })
    }

    /// Serves a page that shows the states of a world that somebody else moves: the newest that [`Mirrored::show`] was
    /// given. `step` says their model, and the gaps at contacts.
    ///
    /// # Errors
    /// If the address is not available, or a tensor operation fails.
    pub fn mirror(source: &Source, step: &Quasidynamic, address: &str) -> Result<Mirrored> {
        let next = Next::default();
        let server = Self::serve(address, |newest| Mirror::new(source, step, next.clone(), newest))?;
        Ok(Mirrored { server, next })
    }

    fn serve<W: World>(address: &str, world: impl FnOnce(Arc<Newest>) -> Result<W>) -> Result<Self> {
        let taken = |error: std::io::Error| Error::invalid(address, error.to_string());
        let listener = TcpListener::bind(address).map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let newest = Arc::new(Newest::default());
        let stop = Arc::new(AtomicBool::new(false));
        let world = world(newest.clone())?;
        let left_out = world.left_out().to_vec();
        let (orders, queue) = sync_channel(QUEUE);
        let (port, header, n_clients) = (address.port(), world.header(), AtomicUsize::new(0));
        let shared = Arc::new(Shared { header, port, newest, orders, stop: stop.clone(), n_clients });
        let stopped = stop.clone();
        let world = std::thread::spawn(move || {
            let outcome = world.run(&queue, &stopped);
            stopped.store(true, Ordering::Relaxed);
            outcome
        });
        let door = std::thread::spawn(move || {
            for (id, stream) in (0..).zip(listener.incoming()) {
                if shared.stop.load(Ordering::Relaxed) {
                    break;
                }
                let (Ok(stream), shared) = (stream, shared.clone()) else { continue };
                std::thread::spawn(move || shared.attend(stream, id));
            }
        });
        Ok(Self { address, left_out, stop, world: Some(world), door: Some(door) })
    }

    /// The page's port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The page's address.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// A line for each visual mesh that could not be read.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// A function that ends the simulation when it is called, on any thread.
    pub fn stopper(&self) -> impl Fn() + Send + 'static {
        let stop = self.stop.clone();
        move || stop.store(true, Ordering::Relaxed)
    }

    /// Waits until the simulation ends: by [`LiveServer::stopper`], or with an error.
    ///
    /// # Errors
    /// If a step fails, or a recording cannot be written.
    pub fn wait(mut self) -> Result<()> {
        match self.world.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            Some(Err(_)) => candle_core::bail!("the simulator has stopped unexpectedly"),
            None => Ok(()),
        }
    }
}

/// A page that shows a world which somebody else moves. It ends when this value is dropped.
#[derive(Debug)]
pub struct Mirrored {
    /// The page's server.
    pub server: LiveServer,
    next: Next,
}

impl Mirrored {
    /// Shows a state, unless another comes before the next frame: a frame goes out some 60 times a second, made on a
    /// thread of its own. Lists have the lengths that [`Shown`] says.
    pub fn show(&self, shown: Shown) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
    }
}

impl Drop for LiveServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The listener waits for a connection.
        drop(TcpStream::connect(self.address));
        let _ = self.world.take().map(JoinHandle::join);
        let _ = self.door.take().map(JoinHandle::join);
    }
}

impl std::fmt::Debug for LiveServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Shared {
    fn attend(&self, mut stream: TcpStream, id: u64) {
        let others = self.n_clients.fetch_add(1, Ordering::Relaxed);
        // Whatever goes wrong with a client is the client's end and nothing else.
        let _ = if others < MOST_CLIENTS {
            self.respond(stream, id)
        } else {
            answer(&mut stream, "503 Service Unavailable", TEXT, b"too many clients")
        };
        self.n_clients.fetch_sub(1, Ordering::Relaxed);
    }

    fn respond(&self, mut stream: TcpStream, id: u64) -> std::io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let Some(request) = Request::read(&mut stream)? else {
            return answer(&mut stream, "400 Bad Request", TEXT, b"expected a request of HTTP/1.1");
        };
        if !request.is_ours(self.port) {
            return answer(&mut stream, "403 Forbidden", TEXT, b"only this page may come here");
        }
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/live") if request.is_upgrade() => {
                let outcome = client::serve(stream, &request, id, &self.orders, &self.newest, &self.stop);
                outcome.map_err(std::io::Error::other)
            }
            ("GET", "/") => {
                let frame = BASE64.encode(&self.newest.read().frame);
                http::answer(
                    &mut stream,
                    "200 OK",
                    "text/html; charset=utf-8",
                    page::fill(&self.header, &frame).as_bytes(),
                )
            }
            ("GET", RECORDING) => match self.newest.read().recording {
                Some(file) => answer(&mut stream, "200 OK", "application/octet-stream", &file),
                None => answer(&mut stream, "404 Not Found", TEXT, b"nothing has been recorded"),
            },
            _ => answer(&mut stream, "404 Not Found", TEXT, b"there is / and nothing else"),
        }
    }
}
