//! The live page and its server: pages see and change one world; whatever clients do, the server goes on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::live_client::{Client, body, distance, get, header, host, newest, place, pose};
use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::show::{Entry, Gallery, LiveServer, Recording, Shown, Source, StepRecord};
use fingertip::step::Quasidynamic;
use serde_json::json;
use support::browser::{self, Browser};

fn serve() -> LiveServer {
    serve_to(None)
}

fn serve_to(record: Option<&Path>) -> LiveServer {
    serve_at("127.0.0.1:0", record)
}

fn serve_at(address: &str, record: Option<&Path>) -> LiveServer {
    let scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let source = Source { name: "hand_ball".into(), text: String::new(), scene };
    LiveServer::start(source, step, address, record).unwrap()
}

/// A world that is moved elsewhere: its newest state and time are shown, and pages cannot change it.
#[test]
fn states_of_another_loop_are_mirrored() {
    let scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let source = Source { name: "hand_ball".into(), text: String::new(), scene };
    let mirrored = LiveServer::mirror(&source, &step, "127.0.0.1:0").unwrap();
    let header = header(&mirrored.server);
    assert!(header["live"]["mirror"] == true && header["live"]["task"].is_null());
    let mut client = Client::connect(&mirrored.server);
    let (z, slider) = (place(&header, "q", "ball.z"), place(&header, "u", "hand/slider_z"));
    let mut q = model.tree.home();
    let at = model.object("ball").unwrap().q + 2;
    client
        .send(&json!({ "reset": true, "pause": true, "pull": { "body": 1, "at": [0, 0, 0], "to": [9.0, 0.0, 0.0] } }));
    for k in 0..100_u32 {
        q[at] = 0.01 * f64::from(k);
        mirrored.show(Shown { time: 0.1 * f64::from(k), q: q.clone(), ..Shown::default() });
    }
    let last = client.until("the last state is there", |frame, _| frame[0] > 9.8);
    assert!((last[z] - 0.99).abs() < 1e-6, "{}", last[z]);
    // Without a command it is where the joints are.
    let joint = place(&header, "q", "hand/slider_z");
    assert_eq!(last[slider], last[joint]);
}

/// A world rests until a page comes, and while all pages are hidden; one that is recorded goes on.
#[test]
fn a_world_that_nobody_sees_rests() {
    let server = serve();
    let moves = |server: &LiveServer| {
        let time = newest(server)[0];
        std::thread::sleep(Duration::from_millis(300));
        newest(server)[0] > time
    };
    assert!(!moves(&server));
    let mut client = Client::connect(&server);
    client.until("time goes by", |frame, _| frame[0] > 0.05);
    let mut other = Client::connect(&server);
    client.send(&json!({ "look": false }));
    other.frame();
    assert!(moves(&server), "another page is seen");
    other.send(&json!({ "look": false }));
    std::thread::sleep(Duration::from_millis(100));
    assert!(!moves(&server));
    let time = newest(&server)[0];
    client.send(&json!({ "look": true }));
    client.until("it goes on", |frame, _| frame[0] > time + 0.05);
    client.send(&json!({ "look": false, "record": true }));
    client.until_state("it is recorded", |state| state["recording"] == true);
    assert!(moves(&server));

    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unseen.mcap");
    assert!(moves(&serve_to(Some(&path))));
}

#[test]
fn pause_step_reset_and_sliders() {
    let server = serve();
    let header = header(&server);
    let mut client = Client::connect(&server);
    client.until("time goes by", |frame, _| frame[0] > 0.05);
    client.send(&json!({ "pause": true }));
    client.until_state("it stands still", |state| state["paused"] == true);
    client.send(&json!({ "reset": true, "step": true }));
    let first = client.until("there is one step", |frame, _| (frame[0] - 0.01).abs() < 1e-6);
    client.send(&json!({ "step": true }));
    let second = client.until("there are two", |frame, _| frame[0] > first[0]);
    assert!((second[0] - 0.02).abs() < 1e-6, "{}", second[0]);
    // A joint's slider: the command is in the frame, and the script has ended.
    let (u, q) = (place(&header, "u", "hand/slider_z"), place(&header, "q", "hand/slider_z"));
    client.send(&json!({ "set": { "u:hand/slider_z": 0.05, "kappa": 2e4, "h": 0.02 }, "pause": false }));
    let later = client.until("the slider is there", |frame, _| (frame[q] - 0.05).abs() < 0.01);
    assert!((later[u] - 0.05).abs() < 1e-6);
    client.until_state("all are told", |state| state["values"]["kappa"] == 2e4 && state["values"]["h"] == 0.02);
    // Out of range, and not there.
    client.send(&json!({ "set": { "mu": 99.0, "nothing": 1.0 } }));
    client.until_state("it stays in its range", |state| state["values"]["mu"] == 1.5);
}

#[test]
fn a_spring_pulls_the_ball_and_lets_go() {
    let server = serve();
    let header = header(&server);
    let (mut client, mut other) = (Client::connect(&server), Client::connect(&server));
    let z = place(&header, "q", "ball.z");
    let ball = body(&header, "ball");
    // The hand goes out of the way.
    let slider = place(&header, "q", "hand/slider_z");
    client.send(&json!({ "reset": true, "set": { "u:hand/slider_z": 0.19 } }));
    other.until("the hand is up", |frame, _| frame[slider] > 0.18);
    client.send(&json!({ "pull": { "body": ball, "at": [0, 0, 0], "to": [0.3, 0.0, 0.0] } }));
    // The other client sees the same world.
    let up = other.until("the ball is up", |frame, _| frame[z] > -0.08);
    assert!((up[z - 2] - 0.3).abs() < 0.1, "{}", up[z - 2]);
    // A client that goes lets go.
    drop(client);
    other.until("the ball is down", |frame, _| frame[z] < -0.15);
}

/// A fingertip goes where it is dragged, by its finger's joints and no others, and stays there when it is let go.
#[test]
fn a_fingertip_is_dragged_by_its_joints() {
    let server = serve();
    let header = header(&server);
    let mut client = Client::connect(&server);
    let tip = body(&header, "hand/finger_r_link_2_index4");
    let at = pose(&header, tip);
    client.send(&json!({ "reset": true, "set": { "u:hand/slider_z": 0.15 } }));
    let slider = place(&header, "q", "hand/slider_z");
    let before = client.until("the hand is up", |frame, _| frame[slider] > 0.149);
    let start: [f64; 3] = std::array::from_fn(|k| f64::from(before[at + k]));
    let to = [start[0], start[1] - 0.004, start[2] + 0.015];
    let pull = json!({ "body": tip, "at": [0, 0, 0], "to": to, "joints": true });
    client.send(&json!({ "pull": pull }));
    client.until("it is there", |frame, _| distance(frame, at, to) < 1e-3);
    client.send(&json!({ "pull": null }));
    let time = client.frame()[0];
    let after = client.until("a while has gone by", |frame, _| frame[0] > time + 0.5);
    assert!(distance(&after, at, to) < 2e-3, "{}", distance(&after, at, to));
    let names = header["scene"]["u_names"].as_array().unwrap();
    for name in names.iter().map(|name| name.as_str().unwrap()) {
        let moved = (after[place(&header, "u", name)] - before[place(&header, "u", name)]).abs();
        assert!(name.contains("index") || moved < 1e-6, "{name} by {moved}");
    }
}

#[test]
fn strangers_are_refused() {
    let server = serve();
    let own = host(&server);
    let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x";
    for (head, status) in [
        (format!("GET / HTTP/1.1\r\nHost: {own}\r\n\r\n"), "200"),
        (format!("GET /live HTTP/1.1\r\nHost: {own}\r\nOrigin: http://evil.example\r\n{upgrade}\r\n\r\n"), "403"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), "403"),
        (format!("GET /etc/passwd HTTP/1.1\r\nHost: {own}\r\n\r\n"), "404"),
        (format!("POST / HTTP/1.1\r\nHost: {own}\r\n\r\n"), "404"),
        ("\u{1}\u{2}\r\n\r\n".to_owned(), "400"),
    ] {
        let answer = get(&server, &head);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{head}: {}", &answer[..answer.len().min(80)]);
    }
}

/// A million bytes that are nothing, a client that never reads, fifty clients, commands that are none: the world goes
/// on.
#[test]
fn whatever_clients_do_the_world_goes_on() {
    let server = serve();
    let address = host(&server);
    let upgrade = format!(
        "GET /live HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    let mut deaf = TcpStream::connect(&address).unwrap();
    deaf.write_all(upgrade.as_bytes()).unwrap();
    let mut noisy = TcpStream::connect(&address).unwrap();
    noisy.write_all(upgrade.as_bytes()).unwrap();
    let mut state = 1_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    })
    .take(1_000_000)
    .collect();
    // The server may hang up at the first of them.
    let _ = noisy.write_all(&noise);
    let mut half = TcpStream::connect(&address).unwrap();
    half.write_all(b"GET / HT").unwrap();

    let mut crowd: Vec<Client> = (0..50).map(|_| Client::connect(&server)).collect();
    for (i, client) in crowd.iter_mut().enumerate() {
        client.send(&json!({ "jump": i }));
        client.send(&json!({ "set": { "h": f64::MAX, "kappa": -1.0 } }));
        client.send(&json!({ "pull": { "body": 100_000, "at": [0, 0, 0], "to": [0, 0, 0] } }));
        client.send(&json!({ "pull": { "body": 1, "at": [0, 0, 0], "to": [1e300, 0, 0] } }));
    }
    for client in &mut crowd {
        client.frame();
    }
    let answered =
        crowd.iter_mut().filter(|client| client.state.get("values").is_some() || client.state.get("error").is_some());
    assert_eq!(answered.count(), 50);
    crowd.truncate(1);
    let mut client = Client::connect(&server);
    let begin = client.frame()[0];
    client.until("half a second has gone by", |frame, _| frame[0] > begin + 0.5);
    drop((deaf, noisy, half));
}

/// At least 60 steps per second of the hand and the ball, seen by a client. The scene's own h asks for 100.
#[test]
fn the_world_keeps_pace() {
    let server = serve();
    let mut client = Client::connect(&server);
    let start = client.frame()[0];
    let begin = Instant::now();
    let end = client.until("a second of the world has gone by", |frame, _| frame[0] > start + 1.0)[0];
    let rate = f64::from(end - start) / 0.01 / begin.elapsed().as_secs_f64();
    println!("{rate:.0} steps/s");
    // Less than what is promised of an idle machine: tests run side by side.
    assert!(rate > 30.0, "{rate}");
}

#[test]
fn a_page_drags_the_ball_and_a_second_page_sees_it() {
    let Some(browser) = Browser::start(1000, 700) else { return };
    let server = serve();
    browser.open(&server.url());
    browser.wait("fingertip.track.length > 5");
    let header = header(&server);
    let (ball, u) = (body(&header, "ball"), place(&header, "u", "hand/slider_z"));
    // The hand goes out of the way, and the ball comes into view.
    let slider = place(&header, "q", "hand/slider_z");
    browser.run("fingertip.live.send({ reset: true, set: { 'u:hand/slider_z': 0.15 } })");
    browser.wait(&format!("fingertip.track.number(fingertip.track.length - 1, {slider}) > 0.14"));
    browser.run("fingertip.charts(); fingertip.look('front'); fingertip.camera.now = { ...fingertip.camera.goal }");
    browser.settle();
    let at = browser.run(&format!(
        "const {{ p }} = fingertip.track.pose(fingertip.track.length - 1, {ball}); return {{ p, on: fingertip.camera.project(p) }}"
    ));
    let from = ["x", "y"].map(|axis| at["on"][axis].as_f64().unwrap());
    let mut other = Client::connect(&server);
    browser.drag(from, [from[0] + 60.0, from[1] - 160.0], 1200);
    let z = place(&header, "q", "ball.z");
    let rest = at["p"][2].as_f64().unwrap();
    // By the end of the drag the ball has been up, as the page and another client saw it.
    let highest = browser.run(&format!(
        "return Math.max(...Array.from({{ length: fingertip.track.length }}, (_, f) => fingertip.track.pose(f, {ball}).p[2]))"
    ));
    assert!(highest.as_f64().unwrap() > rest + 0.01, "{highest} from {rest}");
    let seen = (0..400).map(|_| f64::from(other.frame()[z])).max_by(f64::total_cmp).unwrap();
    assert!(seen > rest + 0.01, "{seen} from {rest}");
    // The slider in the page reaches the simulator.
    browser.run(
        "const s = document.querySelector('[data-control=\"u:hand/slider_z\"]'); s.value = -0.02;
         s.dispatchEvent(new Event('input'))",
    );
    other.until("the slider is there", |frame, _| (frame[u] + 0.02).abs() < 1e-6);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    // A second tab, and then none: the world goes on.
    let frames = browser.run("return fingertip.track.length").as_u64().unwrap();
    browser.open(&server.url());
    assert!(frames > 5);
    drop(browser);
    let now = other.frame()[0];
    other.until("time goes by", |frame, _| frame[0] > now + 0.2);
}

/// Who looks back sees the plots around that time; LIVE goes to the newest frame and stays there.
#[test]
fn a_look_back_and_live_again() {
    let Some(browser) = Browser::start(1000, 700) else { return };
    let server = serve();
    browser.open(&server.url());
    browser.wait("fingertip.track.length > 20");
    let hidden = "document.getElementById('newest').hidden";
    browser.wait(hidden);
    browser.run("fingertip.seek(3)");
    browser.wait(&format!("!{hidden}"));
    assert_eq!(browser.run("return [fingertip.player.frame, fingertip.player.playing]"), json!([3, false]));
    let spans = browser.run(
        "const [plot] = fingertip.plots; const track = { length: 3, time: (frame) => [0, 10, 20][frame] };
         return [0, 1, 2].map((frame) => plot.span.call({ track, zoom: plot.zoom }, { live: true, frame }))",
    );
    assert_eq!(spans, json!([[0, 8], [6, 14], [12, 20]]));
    browser.run("document.getElementById('newest').click()");
    browser.wait(hidden);
    browser.wait("fingertip.player.playing && fingertip.player.frame > 20");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// What is recorded is a file that reads back with the numbers of the frames that came meanwhile. A reset ends it.
#[test]
fn what_happens_is_recorded() {
    let folder = std::env::temp_dir().join(format!("fingertip-record-{}", std::process::id()));
    let path = folder.join("run.mcap");
    let server = serve_to(Some(&path));
    let header = header(&server);
    let z = place(&header, "q", "hand/slider_z");
    let mut client = Client::connect(&server);
    let request = format!("GET /recording.mcap HTTP/1.1\r\nHost: {}\r\n\r\n", host(&server));
    assert!(get(&server, &request).starts_with("HTTP/1.1 404"));
    client.until("time goes by", |frame, _| frame[0] > 0.1);
    client.send(&json!({ "record": true, "set": { "kappa": 3e4 } }));
    client.until_state("it records", |state| state["recording"] == true && state["recorded"] == 0);
    let first = client.frame();
    let last = client.until("some frames have come", |frame, _| frame[0] > first[0] + 0.3);
    client.send(&json!({ "record": false }));
    client.until_state("it has ended", |state| state["recording"] == false && state["recorded"] == 1);
    let mut stream = TcpStream::connect(host(&server)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let body = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    let page = folder.join("page.mcap");
    std::fs::write(&page, &answer[body..]).unwrap();
    let of_page = Recording::read(&page).unwrap();
    let of = |recording: &Recording, frame: &[f32]| {
        let near = |step: &&StepRecord| (step.end.q[z - place(&header, "q", "ball.x")] as f32 - frame[z]).abs() == 0.0;
        recording.steps.iter().find(near).map(|step| step.time)
    };
    // Times count from where the recording begins.
    let times = [&first, &last].map(|frame| of(&of_page, frame).unwrap());
    assert!((times[1] - times[0] - f64::from(last[0] - first[0])).abs() < 1e-5 && times[0] < 0.1, "{times:?}");
    assert!(of_page.steps.windows(2).all(|pair| pair[1].time > pair[0].time));
    // The reset ends what a page records, and on the disk begins another file.
    client.send(&json!({ "record": true }));
    client.until_state("it records again", |state| state["recording"] == true);
    client.send(&json!({ "reset": true }));
    client.until_state("the reset ends it", |state| state["recording"] == false && state["recorded"] == 2);
    client.until("time goes by", |frame, _| frame[0] > 0.05 && frame[0] < 0.5);
    drop((client, server));
    let [one, two] = ["run.mcap", "run-2.mcap"].map(|name| Recording::read(folder.join(name)).unwrap());
    assert!((of(&one, &last).unwrap() - f64::from(last[0])).abs() < 1e-5);
    assert!((one.steps[0].time - 0.01).abs() < 1e-9 && (two.steps[0].time - 0.01).abs() < 1e-9);
    assert_eq!(one.start.q, two.start.q);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A number beside a slider is typed, kept within the range, and refused if it is none; the button Record makes a file.
#[test]
fn numbers_are_typed_and_a_recording_is_saved() {
    let Some(browser) = Browser::start(1000, 700) else { return };
    let server = serve();
    browser.open(&server.url());
    browser.run("if (document.getElementById('panel').hidden) fingertip.options()");
    let field = "fingertip.live.controls.get('mu').field";
    let typed = |text: &str| {
        browser.run(&format!(
            "{field}.focus(); {field}.value = '{text}'; {field}.dispatchEvent(new Event('change')); {field}.blur()"
        ));
    };
    let mut client = Client::connect(&server);
    for (text, mu) in [("0,25", 0.25), ("7", 1.5), ("many", 1.5), ("0.4", 0.4)] {
        typed(text);
        client.until_state(text, |state| state["values"]["mu"] == mu);
    }
    typed("none");
    assert_eq!(browser.run(&format!("return {field}.value")), "0.400");
    browser.run(
        "window.saved = []; HTMLAnchorElement.prototype.click = function () { saved.push([this.href, this.download]); };
         document.getElementById('record').click()",
    );
    browser.wait("fingertip.live.recording && document.getElementById('record').textContent.startsWith('■')");
    browser.wait("fingertip.live.recordedTime() > 0.1");
    browser.run("document.getElementById('record').click()");
    browser.wait("saved.length === 1");
    let saved = browser.run("return saved[0]");
    assert_eq!(saved, json!([format!("{}recording.mcap", server.url()), "hand_ball.mcap"]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// The page of scenes and tasks: a click opens one, another click another in its place.
#[test]
fn the_gallery_opens_scenes() {
    let entry =
        |name: &str| Entry { group: "Scenes", path: format!("scenes/{name}"), name: name.into(), title: "<b>".into() };
    let gallery = Gallery::new(vec![entry("hand_ball"), entry("none")], "127.0.0.1:0").unwrap();
    let url = gallery.url();
    std::thread::spawn(move || {
        gallery.serve(|entry, address| match entry.name.as_str() {
            "hand_ball" => Ok(serve_at(address, None)),
            other => Err(candle_core::Error::Msg(format!("no {other}"))),
        });
    });
    let said = |request: &str| {
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    assert!(said("GET /").contains("&lt;b&gt;"));
    assert!(said("GET /open/scenes/hand_ball").starts_with("HTTP/1.1 404"), "a link opens nothing");
    assert!(said("POST /open/scenes/none").contains("no none"));
    let Some(browser) = Browser::start(1000, 700) else { return };
    browser.visit(&url);
    browser.run("document.querySelector('form button').click()");
    browser.wait("window.fingertip && fingertip.track.length > 5");
    assert_eq!(browser.run("return fingertip.header.scene.scene"), "hand_ball");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// The README's picture, where it is asked for: a spring pulls at the ball, the fingers hold it.
#[test]
fn screenshot() {
    let Some(folder) = browser::album() else { return };
    let Some(browser) = Browser::start(1040, 680) else { return };
    let server = serve();
    let ball = body(&header(&server), "ball");
    browser.open(&server.url());
    browser.wait("fingertip.track.time(fingertip.track.length - 1) > 2.5");
    browser.run(
        "if (fingertip.theme.colours.name === 'light') fingertip.theme.toggle(); fingertip.look('home');
         fingertip.camera.now = { ...fingertip.camera.goal }",
    );
    // At its side that one sees.
    browser.run(&format!(
        "const live = fingertip.live; const {{ p: [x, y, z] }} = fingertip.track.pose(fingertip.track.length - 1, {ball});
         live.grab({{ part: {{ body: {ball} }}, point: [x, y - 0.04, z] }}, fingertip.camera);
         live.held.to = [x + 0.02, y - 0.09, z - 0.03]; live.push(); fingertip.selected = 0"
    ));
    std::thread::sleep(Duration::from_millis(1500));
    browser.run("fingertip.live.send({ pause: true })");
    browser.wait("fingertip.live.paused");
    browser.photograph(&folder, "live.png");
}
