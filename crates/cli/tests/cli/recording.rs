//! Recordings as files: what comes back, by our reader and by others', from files that were cut off, damaged or
//! foreign.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::{Friction, Object, Scene, Shape, Taxels};
use fingertip::show::{self, ContactRecord, Loaded, Recording, RecordingWriter, Source, TaxelRecord};
use fingertip::step::Quasidynamic;
use fingertip::touch::Sensor;
use nalgebra::Isometry3;
use serde_json::{Map, Value, json};

/// Files keep contacts' numbers to 1e-9, and half of that is lost by rounding.
const CONTACTS: f64 = 0.51e-9;
/// Transforms are rounded to 3e-8 along a chain of at most six bodies within half a metre.
const POSES: f64 = 5e-7;

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recording");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

fn hand(n_steps: usize) -> Recording {
    let scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
    roll_out(scene, n_steps)
}

fn roll_out(scene: Scene, n_steps: usize) -> Recording {
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let source = Source { name: "scene".into(), text: String::new(), scene };
    show::record(&source, &step, n_steps, |_, time| source.scene.control(time), |_| Ok(())).unwrap()
}

fn worst(a: impl IntoIterator<Item = f64>, b: impl IntoIterator<Item = f64>) -> f64 {
    let (a, b): (Vec<f64>, Vec<f64>) = (a.into_iter().collect(), b.into_iter().collect());
    assert_eq!(a.len(), b.len());
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).max_by(f64::total_cmp).unwrap_or(0.0)
}

#[test]
fn what_is_written_comes_back() {
    let recording = hand(120);
    let path = scratch("whole.mcap");
    recording.write(&path).unwrap();
    let Loaded { recording: back, complete } = Loaded::read(&path).unwrap();
    assert!(complete);
    assert_eq!(
        (&back.bodies, &back.shapes, &back.contacts),
        (&recording.bodies, &recording.shapes, &recording.contacts)
    );
    assert_eq!((&back.params, &back.q_names, &back.start), (&recording.params, &recording.q_names, &recording.start));
    assert_eq!(back.steps.len(), 120);
    for (a, b) in back.steps.iter().zip(&recording.steps) {
        assert_eq!((&a.end.q, &a.u, &a.scalars), (&b.end.q, &b.u, &b.scalars));
        assert_eq!((a.time, &a.status, a.iterations), (b.time, &b.status, b.iterations));
        assert_eq!((a.contacts.nc(), a.contacts.iter().count()), (b.contacts.nc(), b.contacts.iter().count()));
        for (a, b) in a.contacts.iter().zip(&b.contacts) {
            let numbers = |of: &ContactRecord| [&[of.phi][..], &of.normal, &of.point, &of.force].concat();
            assert!(a.contact == b.contact && worst(numbers(a), numbers(b)) < CONTACTS);
        }
        assert!(worst(a.end.poses.concat(), b.end.poses.concat()) < POSES, "{}", a.time);
    }
    assert_eq!(back.params.friction, Friction::Relaxed);
    // The sum of the contact forces on the ball, from the contacts.
    let sum: [f64; 3] = std::array::from_fn(|k| back.steps[119].contacts.iter().map(|one| one.force[k]).sum());
    let size = sum.iter().map(|f| f * f).sum::<f64>().sqrt();
    assert!((size - back.steps[119].scalars["force on ball"]).abs() < 1e-8);
}

/// Of a step, a record has the contacts that are nearer than their reach at its start, with the step's own distances.
#[test]
fn contacts_that_are_near_are_kept() {
    let mut scene = Scene::load("assets/scenes/cube_fingertips.toml").unwrap();
    scene.params.contact_distance = Some(0.01);
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let recording = roll_out(scene, 60);
    let (mut kept, mut left_out) = (0, 0);
    for pair in recording.steps.windows(2) {
        let q = model.tensor(&[&pair[0].end.q]).unwrap();
        let phi: Vec<f64> = step.contacts(&q).unwrap().phi.flatten_all().unwrap().to_vec1().unwrap();
        for (i, &phi) in phi.iter().enumerate() {
            match pair[1].contacts.get(i) {
                Some(contact) => assert!(phi < 0.01 && (contact.phi - phi).abs() < 1e-12, "{i}: {phi}, {contact:?}"),
                None => assert!(phi >= 0.01, "{i}: {phi}"),
            }
            *if phi < 0.01 { &mut kept } else { &mut left_out } += 1;
        }
    }
    assert!(kept > 0 && left_out > 0, "{kept} kept, {left_out} left out");
}

/// A hand that turns a ball with two pads on it.
fn pads(n_steps: usize) -> (Recording, Model) {
    let mut scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
    for (name, down) in [("top", false), ("bottom", true)] {
        let turned = if down { std::f64::consts::PI } else { 0.0 };
        let pose = Isometry3::rotation([turned, 0.0, 0.0].into()) * Isometry3::translation(0.0, 0.0, 0.03);
        let mut pad = Taxels { reach: 0.05, ..Taxels::grid(name, "ball", &pose, [4, 6], [0.05, 0.04]) };
        pad.normals = pad.points.iter().map(|&p| nalgebra::Vector3::from(p).normalize().into()).collect();
        scene.taxels.push(pad);
    }
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    (roll_out(scene, n_steps), model)
}

/// What taxels feel is recorded as a step from the state before has it, and comes back from all kinds of files.
#[test]
fn taxels_come_back() {
    let (recording, model) = pads(120);
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let taxels = fingertip::touch::Taxels::new(&model, &model.parameters, &[]).unwrap();
    let dense = |pressed: &[TaxelRecord]| {
        let mut all = vec![0.0; 48];
        pressed.iter().for_each(|one| all[one.taxel] = one.force);
        all
    };
    let starts = std::iter::once(&recording.start).chain(recording.steps.iter().map(|step| &step.end));
    let mut most = 0;
    for (start, own) in starts.zip(&recording.steps) {
        let felt = taxels.numbers(&start.q, &step.step_numbers(&start.q, &own.u, &[]).unwrap()).unwrap();
        // The recording's solve starts from the forces of the step before.
        assert!(worst(felt, dense(&own.pressed)) < 1e-5, "{}", own.time);
        most = most.max(own.pressed.len());
    }
    assert!(most > 8, "{most}");

    let path = scratch("pads.mcap");
    recording.write(&path).unwrap();
    let back = Recording::read(&path).unwrap();
    assert_eq!(back.taxels, recording.taxels);
    for (a, b) in back.steps.iter().zip(&recording.steps) {
        assert!(worst(dense(&a.pressed), dense(&b.pressed)) < CONTACTS);
    }
    let mut more = recording.clone();
    more.steps[7].pressed.push(TaxelRecord { taxel: 48, force: 1.0 });
    more.write(&path).unwrap();
    let text = Recording::read(&path).unwrap_err().to_string();
    assert!(text.contains("step 8: taxel: expected places below 48, got 48"), "{text}");

    let [csv, npz] = ["pads.csv", "pads.npz"].map(scratch);
    show::write_csv(&recording, &csv).unwrap();
    show::write_npz(&recording, &npz).unwrap();
    let ever: BTreeSet<usize> = recording.steps.iter().flat_map(|s| &s.pressed).map(|one| one.taxel).collect();
    let name = |taxel: usize| format!("{}[{}]", ["top", "bottom"][taxel / 24], taxel % 24);
    let names: Vec<String> = ever.iter().map(|&taxel| name(taxel)).collect();
    assert!(names.len() > 8 && names.len() < 48, "{names:?}");
    if let Some(rows) = read_in_python(&csv) {
        for (k, step) in recording.steps.iter().enumerate() {
            let all = dense(&step.pressed);
            assert!(ever.iter().zip(&names).all(|(&taxel, name)| is_cell(&rows[k + 1][name], all[taxel])));
        }
    }
    if let Some(arrays) = read_in_python(&npz) {
        assert_eq!(arrays["taxel_names"], json!(names));
        for (k, step) in recording.steps.iter().enumerate() {
            let all = dense(&step.pressed);
            assert_eq!(arrays["taxels"][k + 1], json!(ever.iter().map(|&taxel| all[taxel]).collect::<Vec<_>>()));
        }
    }
}

#[test]
fn hulls_come_back() {
    let points = [[0.05, 0.0, 0.0], [-0.05, 0.0, 0.0], [0.0, 0.05, 0.0], [0.0, -0.05, 0.0], [0.0, 0.0, 0.04]];
    let hull = Shape::hull(&points).unwrap();
    let mut scene =
        Scene::new().object(Object::ground("floor", 0.0)).object(Object::rigid("lid", hull, 0.2).at([0.0, 0.0, 0.01]));
    scene.params.friction = Friction::Coulomb;
    let recording = roll_out(scene, 2);
    let path = scratch("hull.mcap");
    recording.write(&path).unwrap();
    let back = Recording::read(&path).unwrap();
    let shape = back.shapes.iter().find(|shape| shape.kind == "hull").unwrap();
    assert_eq!((shape.vertices.len(), shape.faces.len()), (5, 5));
    assert_eq!(back.shapes, recording.shapes);
    assert_eq!(back.params.friction, Friction::Coulomb);
}

/// 2,000 bytes per step are 20 MB for 10,000.
#[test]
fn a_step_of_the_hand_takes_less_than_two_kilobytes() {
    let recording = hand(300);
    let path = scratch("size.mcap");
    recording.write(&path).unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size / 300 < 2000, "{size} bytes");
}

/// Cut after every 997th byte: never an error once the first chunk is there, never a step too much.
#[test]
fn a_file_that_was_cut_off_gives_its_whole_chunks() {
    let recording = hand(200);
    let path = scratch("cut.mcap");
    recording.write(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let mut steps = Vec::new();
    for length in (0..bytes.len()).step_by(997) {
        std::fs::write(&path, &bytes[..length]).unwrap();
        match Loaded::read(&path) {
            Ok(Loaded { recording: part, complete }) => {
                assert!(!complete && part.steps.len() <= 200);
                assert!(part.steps.iter().zip(&recording.steps).all(|(a, b)| a.end.q == b.end.q));
                steps.push(part.steps.len());
            }
            Err(error) => assert!(steps.is_empty() && error.to_string().contains("cut.mcap"), "{length}: {error}"),
        }
    }
    assert!(steps.is_sorted() && steps[0] == 0 && steps.last().is_some_and(|&n| n > 100), "{steps:?}");
}

/// A crash is a writer that is never finished.
#[test]
fn a_crash_loses_less_than_a_chunk() {
    let recording = hand(200);
    let path = scratch("crash.mcap");
    let mut writer = RecordingWriter::create(&path, &recording).unwrap();
    recording.steps.iter().for_each(|step| writer.step(step).unwrap());
    std::mem::forget(writer);
    let Loaded { recording: back, complete } = Loaded::read(&path).unwrap();
    assert!(!complete && back.steps.len() > 100, "{}", back.steps.len());
}

#[test]
fn damaged_and_foreign_files_are_named() {
    let path = scratch("bad.mcap");
    let complaint = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Loaded::read(&path).map(|loaded| loaded.recording.steps.len()).unwrap_err().to_string()
    };
    for (bytes, hint) in [(&b""[..], "MCAP"), (b"{\"format\": 1}", "MCAP"), (b"\x89MCAP0\r\n", "/scene")] {
        let text = complaint(bytes);
        assert!(text.contains("bad.mcap") && text.contains(hint), "{text}");
    }
    hand(20).write(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    // A bit within each chunk's data: the checksum, or the decompression, finds it. Never a panic, wherever it is.
    let mut found = 0;
    for place in (8..whole.len()).step_by(61) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        std::fs::write(&path, &bytes).unwrap();
        if let Err(error) = Loaded::read(&path) {
            found += 1;
            assert!(error.to_string().contains("bad.mcap"), "{error}");
        }
    }
    assert!(found > 100, "{found}");
    // Another version of the format.
    let mut other = hand(1);
    other.version = 7;
    other.write(&path).unwrap();
    let text = Loaded::read(&path).map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("version 2") && text.contains('7'), "{text}");
}

/// The crate `mcap` reads the file's structure, chunks and index.
#[test]
fn the_crate_mcap_reads_it() {
    let recording = hand(120);
    let path = scratch("crate.mcap");
    recording.write(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let summary = mcap::Summary::read(&bytes).unwrap().expect("a summary");
    let statistics = summary.stats.as_ref().unwrap();
    assert_eq!((statistics.channel_count, statistics.schema_count), (13, 11));
    assert!(statistics.chunk_count > 1 && statistics.message_end_time == 1_200_000_000);
    let counts: BTreeMap<&str, u64> = summary
        .channels
        .values()
        .filter_map(|c| Some((c.topic.as_str(), *statistics.channel_message_counts.get(&c.id)?)))
        .collect();
    assert!(!counts.contains_key("/plan") && !counts.contains_key("/taxels"));
    assert_eq!((counts["/q"], counts["/status"], counts["/scene"], counts["/tf"]), (121, 120, 1, 121));
    assert_eq!(summary.chunk_indexes.len() as u32, statistics.chunk_count);
    let indexed = summary.chunk_indexes.iter().flat_map(|chunk| summary.read_message_indexes(&bytes, chunk).unwrap());
    assert_eq!(indexed.map(|(_, entries)| entries.len() as u64).sum::<u64>(), statistics.message_count);
}

/// Runs the example of the documentation with the package `mcap` where it is installed.
#[test]
fn python_reads_it() {
    let ready = Command::new("python3").args(["-c", "import mcap, numpy"]).output();
    if !ready.is_ok_and(|output| output.status.success()) {
        println!("skipped: python3 with the packages mcap and numpy is not here");
        return;
    }
    let recording = hand(120);
    let path = scratch("python.mcap");
    recording.write(&path).unwrap();
    let text = include_str!("../../../show/docs/recordings.md");
    let mut programs = text.split("```python\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let program = programs.find(|program| program.contains("import make_reader")).unwrap();
    let output = Command::new("python3").args(["-c", program, path.to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().count(), recording.contacts.len(), "{said}");
    let most = |i: usize| {
        let sizes = recording.steps.iter().map(|step| step.contacts.force(i).iter().map(|f| f * f).sum::<f64>().sqrt());
        sizes.max_by(f64::total_cmp).unwrap()
    };
    for (i, line) in said.lines().enumerate() {
        let [a, b] = recording.sides(i);
        assert_eq!(line, format!("{a} on {b}: at most {:.2} N", most(i)));
    }
}

/// Readers that are not ours, where they are installed: all messages, Foxglove's by the schemas in the file, and
/// rerun's transforms.
#[test]
fn others_read_it() {
    let recording = hand(30);
    let path = scratch("others.mcap");
    recording.write(&path).unwrap();
    let Ok(output) = Command::new("python3").args(["tests/readers.py", path.to_str().unwrap()]).output() else {
        println!("skipped: there is no python3");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    println!("{said}");
    let frames = recording.bodies.len() - 1;
    let expected = [
        ("mcap", "/contact_markers 10, /contacts 30, /forces 30, /q 31, /scalars 30, /scene 1".to_owned()),
        ("protobuf", format!("{frames} frames, arrows True, shapes True")),
        ("rerun", format!("{frames} transforms")),
    ];
    for ((reader, expected), line) in expected.into_iter().zip(said.lines()) {
        let (name, found) = line.split_once(": ").unwrap();
        assert_eq!(name, reader);
        assert!(found.contains(&expected) || found.contains("skipped"), "{line}, expected {expected}");
    }
    assert_eq!(said.lines().count(), 3);
}

/// A controller's plan is read back from a recording with the goal, and its page shows it.
#[test]
fn plans_come_back() {
    let path = scratch("plans.mcap");
    let output = Command::new(env!("CARGO_BIN_EXE_fingertip"))
        .args(["mpc", "planar_push", "--episodes", "1", "--cap", "6", "--record"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.code() != Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    let back = Recording::read(&path).unwrap();
    let task = fingertip::mpc::Task::load("assets/tasks/planar_push.toml").unwrap();
    let hold = task.simulator().hold();
    let object = back.objects.iter().find(|object| object.name == task.object()).unwrap();
    assert_eq!(back.goals.iter().map(|goal| goal.body).collect::<Vec<_>>(), [object.body]);
    let goal = task.episode(0, 0).unwrap().goal;
    assert_eq!(back.goals[0].position, goal.position);
    assert_eq!(back.steps.len(), 6 * hold);
    for (i, step) in back.steps.iter().enumerate() {
        assert_eq!(step.plan.is_some(), i % hold == 0, "step {i}");
        let start = if i == 0 { &back.start } else { &back.steps[i - 1].end };
        let Some(plan) = &step.plan else { continue };
        assert!((step.scalars["cost"], step.scalars["planning time"]) == (plan.cost, plan.seconds));
        assert_eq!((plan.poses.len(), plan.poses[0].len()), (plan.q.len(), plan.bodies.len()));
        // The plan begins where the world is, and its poses are those of its configurations.
        assert_eq!(plan.q[0], start.q);
        let shown = plan.bodies.iter().position(|&body| body == object.body).unwrap();
        let x = back.q_names.iter().position(|name| *name == format!("{}.x", object.name)).unwrap();
        assert!(plan.q.iter().zip(&plan.poses).all(|(q, poses)| (q[x] - poses[shown][0]).abs() < 1e-6));
        assert!(worst(plan.poses[0][shown], start.poses[object.body]) < 1e-6);
    }
    // The first error is that of the start, before anything has moved.
    let first = task.errors(&goal, &back.start.q).unwrap();
    assert_eq!(back.steps[0].scalars["position error"], first.position.unwrap());
    let page = back.html();
    let n_poses = back.steps[0].plan.as_ref().unwrap().q.len();
    assert!(page.contains(&format!("\"n_poses\":{n_poses}")) && page.contains("\"goals\":[{"));
}

/// What a reader of Python's makes of a file; nothing if it is not installed.
fn read_in_python(path: &Path) -> Option<Value> {
    let Ok(output) = Command::new("python3").arg("tests/readers.py").arg(path).output() else {
        println!("skipped: there is no python3");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let (reader, found) = said.trim().split_once(": ").unwrap();
    if found.contains("skipped") {
        println!("skipped: {reader} is not installed");
        return None;
    }
    Some(serde_json::from_str(found).unwrap())
}

/// Is it this number to nine digits, or empty for none?
fn is_cell(cell: &Value, x: f64) -> bool {
    let text = cell.as_str().unwrap();
    if x.is_nan() { text.is_empty() } else { (text.parse::<f64>().unwrap() - x).abs() <= 0.5001e-8 * x.abs() }
}

#[test]
fn a_table_loses_nothing_in_python() {
    // A box on a table has eight contacts of one pair.
    let scene = Scene::load("assets/scenes/press_and_drag.toml").unwrap();
    let recording = roll_out(scene, 30);
    let csv = scratch("t.csv");
    show::write_csv(&recording, &csv).unwrap();
    let Some(rows) = read_in_python(&csv) else { return };
    let rows: Vec<&Map<String, Value>> = rows.as_array().unwrap().iter().map(|row| row.as_object().unwrap()).collect();
    let (nq, nu, nc) = (recording.q_names.len(), recording.u_names.len(), recording.contacts.len());
    // The first step has fewer than the others.
    let scalars: BTreeSet<&String> = recording.steps.iter().flat_map(|step| step.scalars.keys()).collect();
    assert!(recording.steps[0].scalars.len() < scalars.len());
    assert_eq!(rows.len(), 31);
    for row in &rows {
        assert_eq!(row.len(), 1 + nq + nu + 4 * nc + scalars.len() + 4);
        assert!(row.values().all(Value::is_string), "{row:?}");
    }
    for (k, name) in recording.q_names.iter().enumerate() {
        assert!(is_cell(&rows[0][name], recording.start.q[k]), "{name}");
    }
    for (row, step) in rows[1..].iter().zip(&recording.steps) {
        assert!(is_cell(&row["time"], step.time));
        assert!(step.end.q.iter().zip(&recording.q_names).all(|(&x, name)| is_cell(&row[name], x)));
        assert!(step.u.iter().zip(&recording.u_names).all(|(&x, name)| is_cell(&row[&format!("u:{name}")], x)));
        for contact in 0..nc {
            let [a, b] = recording.sides(contact);
            let column = |part: &str| &row[&format!("{b}<{a}#{contact} {part}")];
            assert!(is_cell(column("phi"), step.contacts.distance(contact)));
            let f = step.contacts.force(contact);
            assert!(["fx", "fy", "fz"].into_iter().zip(f).all(|(part, x)| is_cell(column(part), x)), "{contact}");
        }
        assert_eq!(row["status"], step.status);
    }
}

#[test]
fn arrays_open_in_numpy_without_decoding() {
    let recording = hand(30);
    let npz = scratch("t.npz");
    show::write_npz(&recording, &npz).unwrap();
    let Some(arrays) = read_in_python(&npz) else { return };
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect()
    };
    assert_eq!(arrays["q_names"], json!(recording.q_names));
    assert_eq!(arrays["u_names"], json!(recording.u_names));
    assert_eq!(arrays["q_units"], json!([vec!["m"; 4], vec!["rad"; 20]].concat()));
    assert_eq!(arrays["u_units"], json!([vec!["m"; 1], vec!["rad"; 20]].concat()));
    let names: Vec<&str> = recording.bodies.iter().map(|body| body.name.as_str()).collect();
    assert_eq!(arrays["body_names"], json!(names));
    assert_eq!(arrays["contact_names"][0], json!("ball<table#0"));
    assert_eq!((&arrays["status"][0], &arrays["status"][30]), (&json!(""), &json!("solved")));
    assert_eq!(numbers(&arrays["q"][0]), recording.start.q);
    assert_eq!(arrays["time"].as_array().unwrap().len(), 31);
    for (k, step) in recording.steps.iter().enumerate() {
        assert_eq!(numbers(&arrays["q"][k + 1]), step.end.q);
        assert_eq!(numbers(&arrays["u"][k + 1]), step.u);
        assert_eq!(arrays["scalar:gap"][k + 1], json!(step.scalars["gap"]));
        for contact in 0..step.contacts.nc() {
            assert_eq!(numbers(&arrays["force"][k + 1][contact]), step.contacts.force(contact));
        }
    }
}

/// `rollout --record`, `export` and `view --html`, and what they say of files that are not theirs.
#[test]
fn the_command_line_records_exports_and_shows() {
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_fingertip")).args(args).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    };
    let [run_file, csv, npz, page, made_file] =
        ["c.mcap", "c.csv", "c.npz", "c.html", "made.mcap"].map(|name| scratch(name).display().to_string());
    let scene = "assets/scenes/push.toml";
    for args in [
        &["rollout", scene, "-n", "20", "--record", &run_file][..],
        &["export", &run_file, "--csv", &csv, "--npz", &npz],
        &["view", &run_file, "--html", &page],
        &["rollout", "cubes:2", "-n", "3", "--record", &made_file],
    ] {
        let (code, text) = run(args);
        assert_eq!(code, Some(0), "{args:?}: {text}");
    }
    assert_eq!(std::fs::read_to_string(&csv).unwrap().lines().count(), 22);
    let whole = std::fs::read_to_string(&page).unwrap();
    assert!(whole.contains("\"stride\":"));
    let most = whole.len() / 1000 - 2;
    let (code, text) = run(&["view", &run_file, "--html", &page, "--kilobytes", &most.to_string()]);
    let shorter = std::fs::read_to_string(&page).unwrap().len();
    assert!(
        code == Some(0) && (whole.len() - 8000..=1000 * most).contains(&shorter),
        "{text}: {shorter} of {}",
        whole.len()
    );
    let bytes = std::fs::read(&run_file).unwrap();
    std::fs::write(&run_file, &bytes[..bytes.len() - 40]).unwrap();
    let (code, text) = run(&["export", &run_file, "--csv", &csv]);
    assert!(code == Some(0) && text.contains("cut off") && text.contains("20 steps"), "{text}");
    for (args, hint) in [
        (&["view", "README.md"][..], "MCAP"),
        (&["view", "pills:many"], "from 1 to 200"),
        (&["rollout", "cubes:0"], "from 1 to 200"),
        (&["view", scene, "--html", &page], "--html"),
        (&["view", &run_file, "--listen", "127.0.0.1:0"], "--listen"),
        (&["view", "nowhere.mcap"], "nowhere.mcap"),
        (&["view", scene, "--listen", "nowhere"], "nowhere"),
        (&["export", &run_file], "--csv"),
    ] {
        let (code, text) = run(args);
        assert!(code == Some(2) && text.contains(hint), "{args:?}: {text}");
    }
}

/// `view --record` writes what happens until Ctrl+C, and then the file is whole.
#[cfg(unix)]
#[test]
fn a_live_scene_is_recorded_until_ctrl_c() {
    use std::io::{BufRead, BufReader};
    let path = scratch("live.mcap");
    let mut program = Command::new(env!("CARGO_BIN_EXE_fingertip"))
        .args(["view", "two_fingers", "--no-open", "--record"])
        .arg(&path)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(program.stdout.take().unwrap()).lines();
    assert!(said.next().unwrap().unwrap().starts_with("page "));
    // It waits for Ctrl+C once it has said how it ends.
    while !said.next().unwrap().unwrap().contains("Ctrl+C") {}
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(Command::new("kill").args(["-INT", &program.id().to_string()]).status().unwrap().success());
    assert!(program.wait().unwrap().success());
    assert!(said.map(Result::unwrap).any(|line| line.starts_with("recording ")));
    let Loaded { recording, complete } = Loaded::read(&path).unwrap();
    assert!(complete && recording.scene == "two_fingers");
    // Steps of 0.05 s, of which one goes by in each 0.05 s.
    assert!(recording.steps.len() > 3, "{} steps", recording.steps.len());
    assert!(recording.steps.iter().enumerate().all(|(i, step)| (step.time - 0.05 * (i + 1) as f64).abs() < 1e-9));
}
