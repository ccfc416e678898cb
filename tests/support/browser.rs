//! A headless Chromium, driven through ChromeDriver's HTTP interface (W3C WebDriver).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A browser with one window. It ends with this value.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    profile: PathBuf,
}

/// Without graphics cards, WebGL is drawn in software, and the page around it by Chromium itself, as it is for people
/// without one.
const FLAGS: &[&str] = &[
    "--headless=new",
    "--no-sandbox",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    // Nothing plays until it is asked to.
    "--force-prefers-reduced-motion",
    "--force-device-scale-factor=1",
    "--allow-file-access-from-files=false",
];

/// How often a browser may fail to start before a test does.
const STARTS: usize = 3;

impl Browser {
    /// A browser with a window of this size; none where Chromium or its driver is missing, which the test's output
    /// says.
    pub fn start(width: u32, height: u32) -> Option<Self> {
        let binary = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| there(name));
        let (Some(binary), true) = (binary, there("chromedriver")) else {
            println!("skipped: chromium and chromedriver are not both here");
            return None;
        };
        // A driver that dies before it has a window says nothing of the page.
        let mut tries = (0..STARTS).map(|_| Self::try_start(binary, width, height));
        let browser = tries.find_map(|result| result.inspect_err(|error| println!("no browser: {error}")).ok());
        Some(browser.expect("a browser that starts"))
    }

    fn try_start(binary: &str, width: u32, height: u32) -> io::Result<Self> {
        let (driver, port) = start_driver();
        let profile = std::env::temp_dir().join(format!("fingertip-browser-{}-{port}", std::process::id()));
        let mut browser = Self { driver, port, session: String::new(), profile };
        let mut args: Vec<String> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
        args.push(format!("--window-size={width},{height}"));
        args.push(format!("--user-data-dir={}", browser.profile.display()));
        let options = json!({ "binary": path_of(binary), "args": args });
        let capabilities = json!({ "alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" },
        } });
        let answer = browser.call("POST", "/session", Some(&json!({ "capabilities": capabilities })))?;
        browser.session = answer["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        // The window's size is that of its frame; the page's is what counts.
        let inner = browser.run("return [innerWidth, innerHeight]");
        let missing = |k: usize, size: u32| 2 * i64::from(size) - inner[k].as_i64().unwrap();
        let rectangle = json!({ "width": missing(0, width), "height": missing(1, height) });
        browser.command("POST", "/window/rect", Some(&rectangle));
        Ok(browser)
    }

    /// Opens an address.
    pub fn visit(&self, address: &str) {
        self.command("POST", "/url", Some(&json!({ "url": address })));
    }

    /// Opens an address and waits for the page.
    pub fn open(&self, address: &str) {
        self.visit(address);
        self.wait("window.fingertip && fingertip.track.length > 0");
    }

    /// The value of a script's `return`.
    pub fn run(&self, script: &str) -> Value {
        self.command("POST", "/execute/sync", Some(&json!({ "script": script, "args": [] })))
    }

    /// Waits until an expression is true.
    pub fn wait(&self, expression: &str) {
        let begin = Instant::now();
        while self.run(&format!("return Boolean({expression})")) != true {
            assert!(begin.elapsed() < Duration::from_secs(60), "waited for {expression}: {:?}", self.complaints());
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Waits until what is asked for has been drawn.
    pub fn settle(&self) {
        let script = "const done = arguments[0]; fingertip.refresh();
            const again = (n) => n ? requestAnimationFrame(() => again(n - 1)) : done(true); again(3)";
        self.command("POST", "/execute/async", Some(&json!({ "script": script, "args": [] })));
    }

    /// Drags from a point of the window to another with the left button, in some steps; `hold` keeps it pressed so
    /// long, ms.
    pub fn drag(&self, from: [f64; 2], to: [f64; 2], hold: u64) {
        let at = |[x, y]: [f64; 2], duration: u64| json!({ "type": "pointerMove", "duration": duration, "x": x.round(), "y": y.round() });
        let press = |kind: &str| json!({ "type": kind, "button": 0 });
        let actions = json!([
            at(from, 0),
            press("pointerDown"),
            at(to, 300),
            json!({ "type": "pause", "duration": hold }),
            press("pointerUp"),
        ]);
        let mouse =
            json!({ "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" }, "actions": actions });
        self.command("POST", "/actions", Some(&json!({ "actions": [mouse] })));
    }

    /// What the window shows, as PNG, into the folder that `FINGERTIP_SCREENSHOTS` names. Nothing may move: what rests
    /// is drawn in full.
    pub fn photograph(&self, folder: &Path, name: &str) {
        self.settle();
        self.wait("fingertip.view.level === 0");
        // Until it is on the screen.
        std::thread::sleep(Duration::from_millis(300));
        let picture = self.command("GET", "/screenshot", None);
        let png = data_encoding::BASE64.decode(picture.as_str().unwrap().as_bytes()).unwrap();
        std::fs::write(folder.join(name), png).unwrap();
    }

    /// Clicks at a point of the window.
    pub fn click(&self, [x, y]: [f64; 2]) {
        let actions = json!([
            { "type": "pointerMove", "duration": 0, "x": x.round(), "y": y.round() },
            { "type": "pointerDown", "button": 0 },
            { "type": "pointerUp", "button": 0 },
        ]);
        let mouse =
            json!({ "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" }, "actions": actions });
        self.command("POST", "/actions", Some(&json!({ "actions": [mouse] })));
    }

    /// Presses a key.
    pub fn key(&self, key: &str) {
        let press = |kind: &str| json!({ "type": kind, "value": key });
        let keys = json!({ "type": "key", "id": "keys", "actions": [press("keyDown"), press("keyUp")] });
        self.command("POST", "/actions", Some(&json!({ "actions": [keys] })));
    }

    /// A command of Chromium's own protocol.
    pub fn protocol(&self, command: &str, parameters: &Value) {
        self.command("POST", "/goog/cdp/execute", Some(&json!({ "cmd": command, "params": parameters })));
    }

    /// Warnings and errors of the console since the last call.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.command("POST", "/se/log", Some(&json!({ "type": "browser" })));
        let serious = |entry: &&Value| entry["level"] == "SEVERE" || entry["level"] == "WARNING";
        // Chromium's own remarks on drawing in software are not the page's.
        let ours = |text: &String| !text.contains("GPU stall") && !text.contains("swiftshader");
        let entries = log.as_array().unwrap().iter().filter(serious).map(|entry| entry["message"].to_string());
        entries.filter(ours).collect()
    }

    fn command(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        self.call(method, &format!("/session/{}{path}", self.session), body)
            .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    fn call(&self, method: &str, path: &str, body: Option<&Value>) -> io::Result<Value> {
        let body = body.map_or_else(String::new, Value::to_string);
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let host = format!("127.0.0.1:{}", self.port);
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        let mut reader = BufReader::new(stream);
        let mut n = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                n = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut text = vec![0; n];
        reader.read_exact(&mut text)?;
        let answer: Value = serde_json::from_slice(&text)?;
        match &answer["value"] {
            error if error.get("error").is_some() => Err(io::Error::other(error.to_string())),
            value => Ok(value.clone()),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser does not end with its driver; an answer that is none must not hide a failure.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if !self.session.is_empty() {
                self.command("DELETE", "", None);
            }
        }));
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// ChromeDriver on a port that it chooses itself, so that nobody can take the port before it does, and the port.
fn start_driver() -> (Child, u16) {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("chromedriver can be started");
    let mut words = BufReader::new(driver.stdout.take().unwrap());
    let mut said = String::new();
    let port = loop {
        let begin = said.len();
        assert!(words.read_line(&mut said).unwrap() > 0, "chromedriver ended: {said}");
        if let Some((_, port)) = said[begin..].split_once("started successfully on port ") {
            break port.trim().trim_end_matches('.').parse().unwrap();
        }
    };
    // It must not wait, or end, for want of a reader.
    std::thread::spawn(move || io::copy(&mut words, &mut io::sink()));
    (driver, port)
}

/// Where pictures are wanted, if they are.
pub fn album() -> Option<PathBuf> {
    std::env::var_os("FINGERTIP_SCREENSHOTS").map(PathBuf::from)
}

fn path_of(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn there(name: &str) -> bool {
    path_of(name).is_some()
}
