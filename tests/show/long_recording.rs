//! Ten thousand frames of the 21-joint hand: a file of at most 20 MB, a page that is there in seconds and plays.

use std::path::Path;
use std::time::{Duration, Instant};

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::show::{self, Source};
use fingertip::step::Quasidynamic;
use support::browser::Browser;

const FRAMES: usize = 10_000;
/// What is promised of the file, bytes.
const LARGEST: u64 = 20_000_000;
/// It plays at 30 frames/s on two idle cores without a graphics card; tests run side by side.
const SLOWEST: f64 = 5.0;
/// The page is there in 3 s on an idle machine; tests run side by side.
const OPEN: f64 = 12.0;

#[test]
fn ten_thousand_frames() {
    let scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let source = Source { name: "hand_ball".into(), text: String::new(), scene };
    // The hand opens and closes all the time: nothing is the same as before.
    let control = |_: usize, time: f64| source.scene.control(time % 2.5);
    let recording = show::record(&source, &step, FRAMES, control, |_| Ok(())).unwrap();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("long.mcap");
    recording.write(&path).unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    println!("{FRAMES} frames: {:.1} MB", 1e-6 * size as f64);
    assert!(size < LARGEST, "{size} bytes");

    let Some(browser) = Browser::start(1280, 720) else { return };
    let page = path.with_extension("html");
    let html = recording.html();
    println!("page: {:.1} MB", 1e-6 * html.len() as f64);
    std::fs::write(&page, html).unwrap();
    let begin = Instant::now();
    browser.open(&format!("file://{}", page.display()));
    let seconds = begin.elapsed().as_secs_f64();
    println!("there after {seconds:.2} s");
    assert!(seconds < OPEN, "{seconds}");
    assert_eq!(browser.run("return fingertip.track.length"), FRAMES + 1);
    // Playing, it draws, and keeps the time of the recording whatever the time of a frame.
    browser.run(
        "const draw = fingertip.draw.bind(fingertip); fingertip.draw = () => (draw(), window.drawn++); fingertip.seek(0);
         fingertip.player.playing = true",
    );
    // What is compiled for the first frames takes its time.
    std::thread::sleep(Duration::from_secs(4));
    let begin = Instant::now();
    let first = browser.run("window.drawn = 0; return fingertip.player.frame").as_u64().unwrap();
    std::thread::sleep(Duration::from_secs(4));
    let drawn = browser.run(
        "const { canvas, soft } = fingertip.view;
         return [window.drawn, fingertip.player.frame, soft, `${canvas.width} × ${canvas.height}`]",
    );
    let (rate, frame) = (drawn[0].as_f64().unwrap() / begin.elapsed().as_secs_f64(), drawn[1].as_u64().unwrap());
    println!("{rate:.0} frames/s of {} pixels, by the processor: {}", drawn[3], drawn[2]);
    assert!(rate > SLOWEST && frame > first + 100, "{rate} frames/s, frames {first} to {frame}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
