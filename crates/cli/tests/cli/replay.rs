//! The page of a recording in a headless Chromium: what it draws, and what it does when somebody uses it.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::show::{self, Recording, Source};
use fingertip::step::Quasidynamic;
use serde_json::{Value, json};
use support::browser::{self, Browser};

const SIZE: [u32; 2] = [900, 640];

static HAND: LazyLock<Recording> = LazyLock::new(|| {
    let scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let source = Source { name: "hand_ball".into(), text: String::new(), scene };
    show::record(&source, &step, 300, |_, time| source.scene.control(time), |_| Ok(())).unwrap()
});

/// The page as a file, opened from the disk with the network off.
fn open(browser: &Browser, name: &str, recording: &Recording) {
    open_page(browser, name, &recording.html());
}

fn open_page(browser: &Browser, name: &str, page: &str) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html"));
    std::fs::write(&path, page).unwrap();
    let offline = json!({ "offline": true, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0 });
    browser.protocol("Network.enable", &json!({}));
    browser.protocol("Network.emulateNetworkConditions", &offline);
    browser.open(&format!("file://{}", path.display()));
    // What rests is not drawn with four times the pixels.
    browser.run("fingertip.view.soft = false");
}

/// Red, green and blue, 0 to 255, where the camera projects a point.
fn pixel(browser: &Browser, point: &[f64]) -> [i64; 3] {
    let script = format!(
        "fingertip.draw();
         const {{ x, y }} = fingertip.camera.project({});
         const {{ gl, canvas, dense }} = fingertip.view;
         const bytes = new Uint8Array(4);
         gl.readPixels(Math.round(x * dense), canvas.height - Math.round(y * dense), 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
         return [...bytes].slice(0, 3)",
        json!(point)
    );
    let value = browser.run(&script);
    std::array::from_fn(|k| value[k].as_i64().unwrap())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("expected a number, got {value}"))
}

/// Teal as the ball is: green well above red.
fn is_teal([r, g, b]: [i64; 3]) -> bool {
    g > r + 50 && b > r
}

#[test]
fn hand_and_ball_are_where_the_camera_projects_them() {
    let Some(browser) = Browser::start(SIZE[0], SIZE[1]) else { return };
    open(&browser, "replay", &HAND);
    let body = |name: &str| HAND.bodies.iter().position(|body| body.name == name).unwrap();
    // Bare bodies: nothing in front of them.
    browser.run(
        "for (const name of ['forces', 'trails', 'collisions']) fingertip.show[name] = false; fingertip.camera.preset('front');
         fingertip.camera.now = { ...fingertip.camera.goal }",
    );
    for frame in [0, 300] {
        browser.run(&format!("fingertip.seek({frame})"));
        browser.settle();
        let poses = if frame == 0 { &HAND.start.poses } else { &HAND.steps[frame - 1].end.poses };
        let ball = &poses[body("ball")][..3];
        // Between the thumb and the fingers.
        let free = [ball[0] - 0.012, ball[1], ball[2] + 0.012];
        assert!(is_teal(pixel(&browser, &free)), "frame {frame}: {:?} at the ball", pixel(&browser, &free));
        let palm = &poses[body("hand/palm")];
        // Visual of the palm: a dark box 47 mm along its z axis, which points down.
        let at = [palm[0], palm[1], palm[2]];
        let centre = browser.run(&format!(
            "const part = fingertip.stage.parts.find((p) => p.body === {} && p.look === 'solid');
             const {{ p, q }} = fingertip.track.pose({frame}, part.body);
             return part.shape.position",
            body("hand/palm")
        ));
        let z = palm[3..].to_vec();
        let [w, x, y, zq] = [z[0], z[1], z[2], z[3]];
        let rotation = nalgebra::UnitQuaternion::new_normalize(nalgebra::Quaternion::new(w, x, y, zq));
        let local = nalgebra::Vector3::new(number(&centre[0]), number(&centre[1]), number(&centre[2]));
        let point = nalgebra::Vector3::from(at) + rotation * local;
        let dark = pixel(&browser, point.as_slice());
        assert!(dark.iter().all(|&c| c < 150), "frame {frame}: {dark:?} at the palm");
        // Beside the scene there is the background.
        let empty = pixel(&browser, &[ball[0] + 0.2, ball[1], ball[2] + 0.05]);
        assert!(empty.iter().all(|&c| c > 180) && !is_teal(empty), "frame {frame}: {empty:?} beside");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let loaded = browser
        .run("return performance.getEntriesByType('resource').filter((r) => !r.name.startsWith('data:')).length");
    assert_eq!(loaded, 0, "nothing is loaded from elsewhere");
}

/// A ball on a pad of 4 × 4: patches have the colours of the scale, and go with a button.
#[test]
fn taxels_are_a_heat_map() {
    let Some(browser) = Browser::start(SIZE[0], SIZE[1]) else { return };
    let text = "[params]\nkappa = 1e4\n[[object]]\nname = \"plate\"\nbox = [0.03, 0.03, 0.005]\nfreedom = \"fixed\"\n\
        position = [0.0, 0.0, 0.1]\n\
        [[object]]\nname = \"ball\"\nsphere = 0.01\nmass = 0.1\nfreedom = \"free\"\nposition = [0.002, 0.002, 0.1152]\n\
        [[taxels]]\nname = \"pad\"\nlink = \"plate\"\nat = [0.0, 0.0, 0.005]\nrows = 4\ncolumns = 4\nsize = [0.016, 0.016]\n";
    let scene = Scene::from_toml(text, "").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let source = Source { name: "pad".into(), text: String::new(), scene };
    let recording = show::record(&source, &step, 20, |_, _| Vec::new(), |_| Ok(())).unwrap();
    open(&browser, "taxels", &recording);
    browser.run(
        "for (const name of ['forces', 'trails', 'distances']) fingertip.show[name] = false;
         for (const part of fingertip.stage.parts) if (part.body === 2) part.look = 'none';
         fingertip.camera.preset('top'); fingertip.camera.now = { ...fingertip.camera.goal }; fingertip.seek(20)",
    );
    browser.settle();
    // The ball's middle is above taxel 10, which is at (2, 2) mm; number 0 is in the corner, out of reach.
    let felt = |taxel: usize| {
        let pressed = &recording.steps[19].pressed;
        pressed.iter().find(|one| one.taxel == taxel).map_or(0.0, |one| one.force)
    };
    let place = |taxel: usize| [-0.006 + 0.004 * (taxel % 4) as f64, -0.006 + 0.004 * (taxel / 4) as f64, 0.105];
    let most = (0..16).map(felt).max_by(f64::total_cmp).unwrap();
    assert!(felt(10) == most && felt(0) == 0.0 && felt(9) > 0.1 * most && felt(9) < 0.9 * most);
    // The scale ends at what a few moments exceed.
    let end = number(&browser.run("return fingertip.view.skin.most"));
    assert!((end - most).abs() < 0.05 * most, "{end} N, {most} N");
    let colours = [[13, 8, 41], [86, 16, 110], [187, 55, 84], [249, 140, 10], [252, 255, 164]];
    let heat = |part: f64| {
        let at = 4.0 * part.min(1.0);
        let i = (at as usize).min(3);
        let mixed = |k: usize| colours[i][k] as f64 + (at - i as f64) * f64::from(colours[i + 1][k] - colours[i][k]);
        [0, 1, 2].map(|k| mixed(k).round() as i64)
    };
    for taxel in [10, 9, 0] {
        let (own, expected) = (pixel(&browser, &place(taxel)), heat(felt(taxel) / end));
        assert!((0..3).all(|k| (own[k] - expected[k]).abs() <= 2), "{taxel}: {own:?}, expected {expected:?}");
    }
    let shown = "return document.querySelector('#skin').innerText";
    let scale = browser.run(shown).as_str().unwrap().to_owned();
    assert!(scale.contains(&format!("{:.0} mN", 1e3 * end)), "{scale}, expected {end} N");
    // Plotted with the pad's sum, which is the ball's weight.
    let sum = "return fingertip.series.find(({ id }) => id === 'Taxels:pad').at(20)";
    assert!((number(&browser.run(sum)) - 0.981).abs() < 0.02, "{}", browser.run(sum));
    browser.key("h");
    browser.settle();
    let plate = pixel(&browser, &place(0));
    assert!(plate.iter().all(|&c| c > 90), "{plate:?} where the pad was");
    assert_eq!(browser.run("return document.querySelector('#skin').hidden"), true);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    // Without pads there is neither a scale nor a button.
    open(&browser, "no_taxels", &HAND);
    assert_eq!(browser.run("return document.querySelector('#skin').hidden"), true);
    assert_eq!(browser.run("return document.querySelector('[data-show=taxels]').parentElement.hidden"), true);
}

#[test]
fn the_scrubber_moves_frame_and_cursor() {
    let Some(browser) = Browser::start(SIZE[0], SIZE[1]) else { return };
    open(&browser, "scrub", &HAND);
    browser.run("fingertip.seek(0)");
    browser.settle();
    let cursors = |browser: &Browser| -> Vec<f64> {
        browser
            .run("return fingertip.plots.map((plot) => plot.cursor)")
            .as_array()
            .unwrap()
            .iter()
            .map(number)
            .collect()
    };
    let before = cursors(&browser);
    assert_eq!(before.len(), 2);
    browser.run("const s = document.getElementById('scrub'); s.value = 150; s.dispatchEvent(new Event('input'))");
    browser.settle();
    assert_eq!(browser.run("return fingertip.player.frame"), 150);
    assert!(browser.run("return document.getElementById('clock').textContent").as_str().unwrap().starts_with("1.50"));
    // The cursor stands in the middle of the plot: 1.5 s of 3 s.
    let width = number(&browser.run("return fingertip.plots[0].canvas.clientWidth"));
    let middle = 46.0 + 0.5 * (width - 46.0 - 10.0);
    for (at, start) in cursors(&browser).iter().zip(&before) {
        assert!((at - middle).abs() < 1.0 && *start < 47.0, "{start} to {at}, expected {middle}");
    }
    // The plot shows the recording's numbers.
    let z = number(&browser.run(
        "return fingertip.series.find((s) => s.group === 'Position' && s.name === 'ball z').at(fingertip.player.frame)",
    ));
    let body = HAND.objects[0].body;
    assert!((z - 1e3 * HAND.steps[149].end.poses[body][2]).abs() < 1e-4);
    // Keys, and playing.
    browser.key("\u{E014}");
    assert_eq!(browser.run("return fingertip.player.frame"), 151);
    browser.key(" ");
    browser.wait("fingertip.player.frame !== 151");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_click_names_the_body() {
    let Some(browser) = Browser::start(SIZE[0], SIZE[1]) else { return };
    open(&browser, "click", &HAND);
    browser.run(
        "fingertip.seek(0); fingertip.camera.preset('front'); fingertip.camera.now = { ...fingertip.camera.goal }",
    );
    browser.settle();
    let ball = HAND.start.poses[HAND.objects[0].body];
    let at = browser
        .run(&format!("return fingertip.camera.project({})", json!([ball[0] - 0.012, ball[1], ball[2] + 0.012])));
    let at = [number(&at["x"]), number(&at["y"])];
    browser.drag(at, at, 0);
    browser.settle();
    let text = browser.run("return document.getElementById('inspector').innerText");
    let text = text.as_str().unwrap();
    assert!(text.contains("ball") && text.contains("0.520 kg") && text.contains("position"), "{text}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A box on the ground has several contacts of one pair: their sum and least gap are plotted and listed, the largest
/// first.
#[test]
fn contacts_are_summed_by_pair_and_listed() {
    let Some(browser) = Browser::start(SIZE[0], SIZE[1]) else { return };
    let scene = Scene::load("assets/scenes/press_and_drag.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let source = Source { name: "box".into(), text: String::new(), scene };
    let run = show::record(&source, &step, 60, |_, time| source.scene.control(time), |_| Ok(())).unwrap();
    open(&browser, "pairs", &run);
    browser.run("fingertip.seek(60)");
    let last = &run.steps[59];
    let of = |i: usize| run.sides(i) == ["ground", "block"];
    let ours: Vec<usize> = (0..run.contacts.len()).filter(|&i| of(i)).collect();
    assert!(ours.len() > 1);
    let sum: [f64; 3] = std::array::from_fn(|k| ours.iter().map(|&i| last.contacts.force(i)[k]).sum());
    let least = ours.iter().map(|&i| last.contacts.distance(i)).fold(f64::NAN, f64::min);
    let at = |group: &str| {
        number(&browser.run(&format!(
            "return fingertip.series.find((s) => s.group === '{group}' && s.name === 'ground on block').at(60)"
        )))
    };
    let size = sum.iter().map(|f| f * f).sum::<f64>().sqrt();
    assert!((at("Contact force") - size).abs() < 1e-5 * size, "{} {size}", at("Contact force"));
    assert!((at("Distance") - 1e3 * least).abs() < 1e-4, "{} {least}", at("Distance"));
    // The table, by its button: pairs with force first, and as many points as there are.
    browser.run("document.getElementById('contacts').click()");
    browser.settle();
    let rows = browser
        .run("return [...document.querySelectorAll('#inspector tr')].map((r) => [...r.cells].map((c) => c.innerText))");
    let rows: Vec<Vec<&str>> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row.as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect())
        .collect();
    assert_eq!(rows[0], ["pair", "points", "force", "gap"]);
    let newtons: Vec<f64> = rows[1..].iter().map(|row| row[2].trim_end_matches(" N").parse().unwrap_or(0.0)).collect();
    assert!(newtons.windows(2).all(|two| two[0] >= two[1] - 1e-3), "{rows:?}");
    let row = rows.iter().find(|row| row[0] == "ground on block").unwrap();
    assert_eq!(row[1], ours.len().to_string());
    assert!(rows.iter().all(|row| !row[3].contains("000000")), "{rows:?}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Values where somebody points, a table and a picture of a plot, an axis for each of two units.
#[test]
fn plots_say_values_and_are_saved() {
    let Some(browser) = Browser::start(SIZE[0], SIZE[1]) else { return };
    open(&browser, "plots", &HAND);
    browser.run("fingertip.seek(20)");
    browser.settle();
    browser.run(
        "const [plot] = fingertip.plots; const box = plot.front.getBoundingClientRect(); const x = 46 + 0.5 * (box.width - 56);
         plot.front.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + x, clientY: box.top + 30 }))",
    );
    browser.settle();
    let hover = browser.run(
        "const [plot] = fingertip.plots;
         return [plot.hover, fingertip.player.frame, plot.legend.querySelector('b').innerText, plot.series[0].at(plot.hover)]",
    );
    assert!((number(&hover[0]) - 150.0).abs() <= 1.0 && hover[1] == 20, "{hover}");
    let told: f64 = hover[2].as_str().unwrap().split(' ').next().unwrap().replace('−', "-").parse().unwrap();
    assert!((told - number(&hover[3])).abs() <= 1e-3 * number(&hover[3]).abs(), "{hover}");
    let table = browser.run("return fingertip.plots[1].table()");
    let lines: Vec<&str> = table.as_str().unwrap().lines().collect();
    assert_eq!(lines.len(), 302);
    assert!(lines[0].starts_with("time s,\"") && lines[0].contains(" mm\""), "{}", lines[0]);
    let z = lines[0].split(',').position(|name| name == "\"ball z mm\"").unwrap();
    let value: f64 = lines[301].split(',').nth(z).unwrap().parse().unwrap();
    assert!((value - 1e3 * HAND.steps[299].end.poses[HAND.objects[0].body][2]).abs() < 1e-3);
    let picture = browser.run(
        "const p = fingertip.plots[0].picture(); return [p.width, p.height, p.toDataURL('image/png').slice(0, 15)]",
    );
    assert!(number(&picture[0]) > 200.0 && picture[2] == "data:image/png;", "{picture}");
    let axes = browser.run(
        "const [plot] = fingertip.plots; const one = plot.right;
         plot.set([plot.series[0], fingertip.series.find((s) => s.group === 'Position')]); fingertip.draw();
         return [one, plot.right, plot.curves.ranges.size]",
    );
    assert_eq!(axes, json!([10, 44, 2]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Two clicks on the ball, at points whose distance is known, and the points go with the ball.
#[test]
fn distances_are_measured() {
    let Some(browser) = Browser::start(SIZE[0], SIZE[1]) else { return };
    open(&browser, "measure", &HAND);
    browser.run(
        "fingertip.charts(); fingertip.seek(300); fingertip.look('top'); document.getElementById('measure').click()",
    );
    browser.settle();
    // Nothing moves any more.
    browser.run("fingertip.camera.now = { ...fingertip.camera.goal }");
    browser.settle();
    let said = || browser.run("return document.getElementById('measured').textContent").as_str().unwrap().to_owned();
    assert!(said().starts_with("Click two points"), "{}", said());
    // The table beside the hand, from above: the distance of the points under two pixels on the plane.
    let pixels = [[30.0, 140.0], [60.0, 540.0]];
    let on_plane = |[x, y]: [f64; 2]| {
        let p = browser.run(&format!(
            "const {{ from, along }} = fingertip.camera.ray({x}, {y}); const t = (-0.2 - from[2]) / along[2];
             return from.map((a, k) => a + t * along[k])"
        ));
        [0, 1].map(|k| number(&p[k]))
    };
    let [a, b] = pixels.map(on_plane);
    let expected = 1e3 * (a[0] - b[0]).hypot(a[1] - b[1]);
    pixels.into_iter().for_each(|at| browser.click(at));
    browser.settle();
    let told: f64 = said().split(": ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((told - expected).abs() < 1e-3 * expected, "{} instead of {expected}", said());
    // A third click begins anew.
    browser.click(pixels[0]);
    browser.settle();
    assert!(said().contains("click a second point"), "{}", said());
    browser.run("fingertip.measure.ends = [1, 2].map((k) => ({ body: fingertip.header.scene.objects[0].body, local: [0, 0, 0.01 * k] }))");
    for frame in [0, 300] {
        browser.run(&format!("fingertip.seek({frame})"));
        browser.settle();
        assert!(said().contains(": 10.00 mm"), "{}", said());
    }
    browser.run("document.getElementById('measure').click()");
    browser.settle();
    assert_eq!(browser.run("return document.getElementById('measured').hidden"), true);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// The address follows the view, and a page that is opened by it shows the same.
#[test]
fn the_address_has_the_view() {
    let Some(browser) = Browser::start(SIZE[0], SIZE[1]) else { return };
    open(&browser, "address", &HAND);
    browser.run(
        "fingertip.seek(120); fingertip.camera.orbit(80, -30); fingertip.camera.zoom(0.7); fingertip.toggle('cones');
         fingertip.toggle('grid'); fingertip.selected = fingertip.header.scene.objects[0].body; fingertip.refresh()",
    );
    browser.wait("location.hash.includes('camera=')");
    let state =
        "const { player, camera, show, selected } = fingertip; const { yaw, pitch, distance, target } = camera.goal;
        return [player.frame, show.cones, show.grid, selected, yaw, pitch, distance, ...target]";
    let before = browser.run(state);
    let address = browser.run("return location.href").as_str().unwrap().to_owned();
    browser.visit("about:blank");
    browser.open(&address);
    let after = browser.run(state);
    assert_eq!(after.as_array().unwrap()[..4], before.as_array().unwrap()[..4]);
    for k in 4..10 {
        let (x, y) = (number(&before[k]), number(&after[k]));
        assert!((x - y).abs() <= 1e-4 * x.abs().max(0.01), "{before} and {after}");
    }
    // What is no view changes nothing.
    browser.run("location.hash = '#t=soon&view=moon&camera=1,2&show=nothing&body=nobody'");
    browser.settle();
    assert_eq!(browser.run(state), after);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// The wheel over a plot shows less time, in all plots; a double click shows all of it again.
#[test]
fn plots_zoom() {
    let Some(browser) = Browser::start(SIZE[0], SIZE[1]) else { return };
    open(&browser, "zoom", &HAND);
    let spans = "fingertip.draw(); return fingertip.plots.map((plot) => plot.times)";
    let whole = browser.run(spans);
    // At 1 s, a third of the way.
    browser.run(
        "const { front, right } = fingertip.plots[0]; const box = front.getBoundingClientRect();
         const clientX = box.left + 46 + (box.width - 46 - right) / 3;
         front.dispatchEvent(new WheelEvent('wheel', { clientX, clientY: box.top + 30, deltaY: -Math.log(2) / 0.0014, cancelable: true }))",
    );
    let zoomed = browser.run(spans);
    let [from, to] = [0, 1].map(|k| number(&zoomed[0][k]));
    // As far as pixels and frames go.
    assert!((to - from - 1.5).abs() < 1e-6 && (from - 0.5).abs() < 0.03, "{zoomed}");
    assert_eq!(zoomed[0], zoomed[1]);
    browser.run("fingertip.plots[1].front.dispatchEvent(new MouseEvent('dblclick'))");
    assert_eq!(browser.run(spans), whole);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A replay becomes a video that plays as long as the replay; a browser that cannot says so.
#[test]
fn a_replay_becomes_a_video() {
    let Some(browser) = Browser::start(SIZE[0], SIZE[1]) else { return };
    open(&browser, "video", &HAND);
    // Asked for in one breath: on a busy machine the replay may be over before the next question. No picture is left
    // out there.
    let begun = browser.run(
        "window.saved = []; const make = URL.createObjectURL; URL.createObjectURL = (blob) => (saved.push(blob), make(blob));
         HTMLAnchorElement.prototype.click = function () { saved.name = this.download; };
         fingertip.player.speed = 4; document.getElementById('film').click(); return [Boolean(fingertip.film.recorder), fingertip.film.pace(1) < 0.07]",
    );
    assert_eq!(begun, json!([true, true]));
    browser.wait("saved.length === 1 && !fingertip.film.recorder");
    assert_eq!(
        browser.run("return [saved.name, saved[0].type, fingertip.player.loop]"),
        json!(["hand_ball.webm", "video/webm", true])
    );
    browser.run(
        "const video = Object.assign(document.createElement('video'), { src: URL.createObjectURL(saved[0]), muted: true });
         window.film = video; video.load()",
    );
    browser.wait("film.readyState >= 1 && film.videoWidth > 0");
    assert!(number(&browser.run("return saved[0].size")) > 5e3);
    browser.run("delete window.MediaRecorder; document.getElementById('film').click()");
    let message = browser.run("return document.getElementById('message').textContent");
    assert!(message.as_str().unwrap().contains("cannot record a video"), "{message}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Another recording of the same bodies is seen over this one, and side by side where it stands; one of others is
/// refused.
#[test]
fn two_recordings_are_shown_together() {
    let Some(browser) = Browser::start(SIZE[0], SIZE[1]) else { return };
    let ball = HAND.objects[0].body;
    let mut other = HAND.clone();
    // The same hand without a ball to hold: it is up in the air.
    for pose in other.steps.iter_mut().map(|step| &mut step.end.poses[ball]) {
        pose[2] = 0.5;
    }
    let page = HAND.html_beside(&[("other".to_owned(), other.clone())]).unwrap();
    open_page(&browser, "together", &page);
    browser.run(
        "for (const name of ['forces', 'trails']) fingertip.toggle(name); fingertip.charts(); fingertip.seek(300);
         fingertip.look('front'); fingertip.camera.goal.distance *= 3; fingertip.camera.now = { ...fingertip.camera.goal }",
    );
    browser.settle();
    let up = |x: f64| {
        let [bx, by, _] = HAND.steps[299].end.poses[ball][..3] else { unreachable!() };
        [bx + x, by, 0.5]
    };
    let [r, g, b] = pixel(&browser, &up(0.0));
    assert!(g > r + 10 && b > r, "seen through: {:?}", [r, g, b]);
    browser.run(
        "fingertip.toggle('apart'); fingertip.look('front'); fingertip.camera.goal.distance *= 3;
         fingertip.camera.now = { ...fingertip.camera.goal }",
    );
    browser.settle();
    let apart = number(&browser.run("return fingertip.worlds.places(true)[1]"));
    assert!(is_teal(pixel(&browser, &up(apart))), "{:?}", pixel(&browser, &up(apart)));
    let [r, g, _] = pixel(&browser, &up(0.0));
    assert!(g < r + 10, "nothing is there any more: {r} {g}");
    assert!(
        browser.run("return document.querySelector('#title p').textContent").as_str().unwrap().ends_with("with other")
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());
    other.bodies[ball].name = "cube".to_owned();
    let error = HAND.html_beside(&[("other".to_owned(), other)]).unwrap_err().to_string();
    assert!(error.contains("other: expected the bodies of \"hand_ball\""), "{error}");
}

/// Home shows everything, as large as it can be above the plots.
#[test]
fn home_fills_what_is_not_covered() {
    for [width, height] in [SIZE, [390, 780]] {
        let Some(browser) = Browser::start(width, height) else { return };
        open(&browser, "home", &HAND);
        browser.run("fingertip.look('home'); fingertip.camera.now = { ...fingertip.camera.goal }");
        browser.settle();
        let seen = browser.run(
            "const { right, up } = fingertip.camera.axes();
             const ends = ({ at, r }) => [right, up].flatMap((d) => [-r, r].map((s) => at.map((x, k) => x + s * d[k])));
             const points = fingertip.camera.ball.spheres.flatMap(ends).map((p) => fingertip.camera.project(p));
             const [xs, ys] = [points.map((p) => p.x), points.map((p) => p.y)];
             const foot = document.querySelector('footer').getBoundingClientRect().top;
             const above = document.getElementById(innerWidth <= 720 ? 'title' : 'views');
             const head = above.getBoundingClientRect().bottom;
             return [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys), innerWidth, head, foot]",
        );
        let [left, right, top, bottom, wide, head, foot] = std::array::from_fn(|k| number(&seen[k]));
        assert!(left > 0.0 && right < wide && top > head && bottom < foot, "{seen}");
        let filled = f64::max((right - left) / wide, (bottom - top) / (foot - head));
        assert!(filled > 0.8, "{seen}");
    }
}

/// Every shape has pixels of its own where it is.
#[test]
fn every_shape_is_drawn() {
    use fingertip::description::{Object, Shape};
    let Some(browser) = Browser::start(SIZE[0], SIZE[1]) else { return };
    let points = [[0.05, 0.0, -0.03], [-0.05, 0.0, -0.03], [0.0, 0.05, -0.03], [0.0, -0.05, -0.03], [0.0, 0.0, 0.04]];
    let shapes = [
        Shape::sphere(0.04),
        Shape::capsule(0.03, 0.03),
        Shape::cuboid([0.04, 0.04, 0.03]),
        Shape::rounded_cuboid([0.04, 0.04, 0.04], 0.015),
        Shape::cylinder(0.04, 0.03),
        Shape::ellipsoid([0.05, 0.03, 0.04]),
        Shape::hull(&points).unwrap(),
    ];
    let n = shapes.len();
    let scene = shapes.into_iter().enumerate().fold(
        Scene::new().object(Object::ground("floor", -0.06)),
        |scene, (i, shape)| {
            scene.object(Object::rigid(format!("thing{i}"), shape, 0.2).at([0.14 * i as f64, 0.0, 0.0]))
        },
    );
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let source = Source { name: "shapes".into(), text: String::new(), scene };
    let recording = show::record(&source, &step, 1, |_, _| Vec::new(), |_| Ok(())).unwrap();
    open(&browser, "shapes", &recording);
    browser
        .run("fingertip.seek(0); fingertip.camera.preset('top'); fingertip.camera.now = { ...fingertip.camera.goal }");
    let colours = || -> Vec<[i64; 3]> {
        browser.settle();
        (0..n).map(|i| pixel(&browser, &[0.14 * i as f64 + 0.005, 0.005, 0.0])).collect()
    };
    let with = colours();
    browser.run("fingertip.stage.parts = []");
    let without = colours();
    for i in 0..n {
        let change: i64 = with[i].iter().zip(&without[i]).map(|(a, b)| (a - b).abs()).sum();
        assert!(change > 20, "shape {i}: {:?} with, {:?} without", with[i], without[i]);
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// The README's pictures, where they are asked for.
#[test]
fn screenshot() {
    let Some(folder) = browser::album() else { return };
    let Some(browser) = Browser::start(1040, 680) else { return };
    let folder_of_runs = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let record = |arguments: &[&str], to: &Path| {
        let status = Command::new(env!("CARGO_BIN_EXE_fingertip")).args(arguments).arg(to).status();
        assert!(status.unwrap().success());
    };
    record(&["demo", "--out"], folder_of_runs);
    open(&browser, "screenshot", &Recording::read(folder_of_runs.join("hand_turn.mcap")).unwrap());
    browser.run(
        "if (fingertip.theme.colours.name === 'dark') fingertip.theme.toggle(); fingertip.seek(570);
         fingertip.camera.now = { ...fingertip.camera.goal };
         fingertip.selected = fingertip.header.scene.objects[0].body; fingertip.toggle('cones');
         fingertip.view.soft = true",
    );
    browser.photograph(&folder, "replay.png");

    let run = folder_of_runs.join("mpc.mcap");
    record(&["mpc", "assets/tasks/allegro_cube.toml", "--episodes", "1", "--record"], &run);
    open(&browser, "mpc", &Recording::read(&run).unwrap());
    browser.run(
        "if (fingertip.theme.colours.name === 'dark') fingertip.theme.toggle(); fingertip.seek(42);
         fingertip.camera.now = { ...fingertip.camera.goal };
         fingertip.view.soft = true",
    );
    browser.photograph(&folder, "mpc.png");
}
