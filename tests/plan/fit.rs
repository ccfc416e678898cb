//! Parameters from logs: what made them, standard errors beside the spread over noise, what logs cannot tell, and what
//! cannot be used.

use candle_core::{DType, Device};
use fingertip::description::Scene;
use fingertip::fit::{Fit, Kind, Log, Options, Unknown, fit, meant, unknowns};
use fingertip::mpc::Deviates;
use fingertip::step::{Dynamic, DynamicParams, Quasidynamic};
use fingertip::{Model, Overrides, shipped};

/// Standard deviation of the noise on joints, rad, on positions, m, and on rotations, rad.
const NOISE: f64 = 1e-4;

fn compiled(scene: &Scene) -> Model {
    Model::new(scene, DType::F64, &Device::Cpu).unwrap()
}

/// The fingers squeeze the disc, carry and twist it, in a scene with other numbers; without noise.
fn carried(overrides: &str) -> (Model, Vec<(String, Vec<f64>)>) {
    let scene = shipped::scene("two_fingers").unwrap();
    let model = compiled(&scene);
    let parameters = Overrides::from_json(overrides).unwrap().parameters(&model, &model.parameters).unwrap();
    let step = Quasidynamic::new(&model, &parameters).unwrap();
    let times: Vec<f64> = (0..=60).map(|k| f64::from(k) * scene.params.h).collect();
    // As the script has it, each command from its row's time on.
    let commands: Vec<Vec<f64>> = times.iter().map(|time| scene.control(*time)).collect();
    let q = step.rollout_numbers(&model.tree.home(), &commands[..60].concat(), 60).unwrap().q;
    let mut columns = vec![("time".to_owned(), times)];
    for (k, name) in model.u_names().into_iter().enumerate() {
        columns.push((format!("u:{name}"), commands.iter().map(|u| u[k]).collect()));
    }
    for (k, name) in model.q_names().into_iter().enumerate() {
        columns.push((name, q.chunks(model.nq()).map(|q| q[k]).collect()));
    }
    (model, columns)
}

fn log(model: &Model, columns: &[(String, Vec<f64>)]) -> Log {
    let columns: Vec<(&str, &[f64])> = columns.iter().map(|(name, of)| (name.as_str(), &of[..])).collect();
    Log::new(model, "log", &columns).unwrap()
}

/// The columns with noise on what was measured.
fn noisy(columns: &[(String, Vec<f64>)], seed: u64) -> Vec<(String, Vec<f64>)> {
    let mut deviates = Deviates::new(seed, 0);
    let mut noisy = columns.to_vec();
    for (_, of) in noisy.iter_mut().filter(|(name, _)| name != "time" && !name.starts_with("u:")) {
        of.iter_mut().for_each(|x| *x += NOISE * deviates.normal());
    }
    noisy
}

fn found(model: &Model, logs: &[Log], by: &[&str], options: &Options) -> Fit {
    fit(model, &model.parameters, logs, &unknowns(model, &model.parameters, by).unwrap(), options).unwrap()
}

#[test]
fn what_made_a_log_is_found_again() {
    let (model, columns) =
        carried(r#"{"mass": {"disc": 0.3}, "stiffness": {"fingers": 3}, "mu": {"disc/fingers": 0.6}}"#);
    let fit =
        found(&model, &[log(&model, &columns)], &["mass.disc", "stiffness.*", "mu", "size.disc"], &Options::default());
    assert!(fit.converged && fit.steps == [60, 0] && fit.blind.is_empty(), "{fit:?}");
    for one in &fit.numbers {
        let expected = match one.name.split('.').next().unwrap() {
            "mass" => 0.3,
            "stiffness" => 3.0,
            "mu" => 0.6,
            _ => 1.0,
        };
        assert!((one.value / expected - 1.0).abs() < 1e-6, "{one:?}");
    }
    assert_eq!(fit.numbers.len(), 7);
}

/// Over 40 draws of noise, values are off by what the standard errors say.
#[test]
fn standard_errors_are_the_spread_over_noise() {
    const DRAWS: u32 = 40;
    let (model, columns) = carried(r#"{"mass": {"disc": 0.25}, "stiffness": {"fingers": 2.5}}"#);
    let expected = [0.25, 2.5, 0.8];
    let mut squares = [0.0; 3];
    for seed in 0..DRAWS {
        let fit = found(
            &model,
            &[log(&model, &noisy(&columns, u64::from(seed)))],
            &["mass.disc", "stiffness", "mu"],
            &Options::default(),
        );
        assert!(fit.correlation.abs() < 0.25, "{}", fit.correlation);
        for (sum, (one, expected)) in squares.iter_mut().zip(fit.numbers.iter().zip(expected)) {
            *sum += ((one.value - expected) / one.error).powi(2);
        }
        let (n, size, noise) = fit.noise[&Kind::Joint];
        assert!(n == 4 * 61 && (noise / NOISE - 1.0).abs() < 0.25 && size < noise, "{:?}", fit.noise);
    }
    // χ² of 40: beyond 3.5 standard deviations of 2/√80 in one of 2000.
    for sum in squares {
        assert!(((sum / f64::from(DRAWS)).sqrt() - 1.0).abs() < 3.5 / f64::from(2 * DRAWS).sqrt(), "{squares:?}");
    }
}

/// Without contact a joint is where its command is, so that a sensor's offset is the mean of what is left, σ/√n sure;
/// the first row tells the start.
#[test]
fn an_offset_is_a_mean() {
    let (model, mut columns) = carried("{}");
    let n = columns[0].1.len();
    let mut deviates = Deviates::new(3, 0);
    let mut means = Vec::new();
    columns.retain(|(name, _)| !name.starts_with("disc"));
    for k in 0..model.nu() {
        let u = columns[1 + k].1.clone();
        let noise: Vec<f64> = (0..n).map(|_| NOISE * deviates.normal()).collect();
        let offset = 0.02 * (k as f64 - 1.5);
        let measured = (0..n).map(|row| u[row.saturating_sub(1)] + offset + noise[row]);
        columns[1 + model.nu() + k].1 = measured.collect();
        means.push(offset + noise[1..].iter().sum::<f64>() / (n - 1) as f64);
    }
    // Far from the disc.
    let far = |(name, of): &(String, Vec<f64>)| {
        let sign = if name.contains("left") { 1.0 } else { -1.0 };
        (name.clone(), of.iter().map(|x| if name == "time" || name.ends_with("_2") { *x } else { x + sign }).collect())
    };
    let columns: Vec<(String, Vec<f64>)> = columns.iter().map(far).collect();
    let options = Options { noise: [(Kind::Joint, NOISE)].into(), ..Options::default() };
    // Nor does it push from afar.
    let hard = Overrides::from_json(r#"{"params": {"kappa": 1e12}}"#).unwrap();
    let parameters = hard.parameters(&model, &model.parameters).unwrap();
    let by = unknowns(&model, &parameters, &["sensor.fingers/*"]).unwrap();
    let fit = fit(&model, &parameters, &[log(&model, &columns)], &by, &options).unwrap();
    for (one, mean) in fit.numbers.iter().zip(means) {
        let error = NOISE / ((n - 1) as f64).sqrt();
        assert!((one.error / error - 1.0).abs() < 1e-3 && (one.value - mean).abs() < 1e-2 * error, "{one:?} {mean}");
    }
}

/// ε m is all that holds the disc; and twice the stiffness and half of κ with half of ε m move it the same.
#[test]
fn what_a_log_cannot_tell_is_named() {
    let (model, columns) = carried(r#"{"mass": {"disc": 0.25}}"#);
    let logs = [log(&model, &noisy(&columns, 5))];
    let of = |by: &[&str]| {
        let mut fit = found(&model, &logs, by, &Options::default());
        for one in &mut fit.blind {
            one.numbers.sort_by_key(|(k, _)| *k);
        }
        fit
    };
    let fit = of(&["mass.disc", "epsilon", "mu"]);
    let [blind] = &fit.blind[..] else { panic!("{:?}", fit.blind) };
    let [(0, a), (1, b)] = blind.numbers[..] else { panic!("{blind:?}") };
    assert!((a + b).abs() < 1e-3 && blind.error > 1e3, "{blind:?}");
    assert!(fit.describe(blind).contains("mass.disc × ") && fit.describe(blind).contains("epsilon × "));
    assert_eq!(fit.numbers.iter().map(|one| one.is_told).collect::<Vec<_>>(), [false, false, true]);
    let fit = of(&["mass.disc", "stiffness", "kappa"]);
    let [blind] = &fit.blind[..] else { panic!("{:?}", fit.blind) };
    let signs: Vec<f64> = blind.numbers.iter().map(|(_, by)| by.signum() * blind.numbers[0].1.signum()).collect();
    assert_eq!(signs, [1.0, 1.0, -1.0], "{blind:?}");
    // A prior of one tells all.
    let mut all = unknowns(&model, &model.parameters, &["mass.disc", "epsilon"]).unwrap();
    all[1].prior = Some((1.0, 1e-3));
    let fit = fingertip::fit::fit(&model, &model.parameters, &logs, &all, &Options::default()).unwrap();
    assert!((fit.numbers[0].value - 0.25).abs() < 4.0 * fit.numbers[0].error, "{:?}", fit.numbers);
    assert!(fit.numbers[0].error < 0.02 && !fit.numbers[0].is_told, "{:?}", fit.numbers);
}

/// A hand in the air by the second-order step, with commands that come late, in times that are no multiples of h; and
/// parts of it as logs of their own.
#[test]
fn momentum_latency_and_windows() {
    let text = r#"
[params]
h = 0.002

[[robot]]
name = "arm"
urdf = "planar_arm.urdf"
stiffness = 3.0
damping = 0.08
armature = 0.01
dry_friction = 0.0
"#;
    let model = compiled(&Scene::from_toml(text, "assets/robots").unwrap());
    let (nv, late, true_stiffness) = (model.nv(), 0.011, 4.0);
    let mut parameters = model.parameters.clone();
    parameters.damping = (&parameters.damping * 1.4).unwrap();
    let step = Dynamic::new(&model, &parameters, DynamicParams::default()).unwrap();
    let command =
        |time: f64, k: usize| 0.4 * ((5.0 + k as f64) * time.max(0.0)).sin() + 0.2 * (13.0 * time.max(0.0)).sin();
    let (mut q, mut v) = (model.tree.home(), vec![0.0; nv]);
    let (mut rows, mut deviates) = (Vec::new(), Deviates::new(8, 0));
    let times = |row: usize| 0.01 * row as f64;
    let held = |time: f64| times((time / 0.01 + 1e-9).floor().max(0.0) as usize);
    for k in 0..=1500 {
        let time = 0.002 * f64::from(k);
        if k % 5 == 0 {
            let u = (0..model.nu()).map(|k| command(time, k));
            let measured = q.iter().map(|q| q + NOISE * deviates.normal());
            rows.push(std::iter::once(time).chain(u).chain(measured).collect::<Vec<f64>>());
        }
        // The mean of a command that changes within the step.
        let mean = |k: usize| {
            (0..200).map(|i| command(held(time + 0.002 * (f64::from(i) + 0.5) / 200.0 - late), k)).sum::<f64>() / 200.0
        };
        let tau: Vec<f64> = (0..nv).map(|k| true_stiffness * (mean(k) - q[k])).collect();
        let next = step.step_numbers(&q, &v, &tau, &[]).unwrap();
        (q, v) = (next.q_next, next.v_next);
    }
    let names = model.u_names().into_iter().map(|name| format!("u:{name}")).chain(model.q_names());
    let names: Vec<String> = std::iter::once("time".to_owned()).chain(names).collect();
    let all = names.into_iter().enumerate().map(|(k, name)| (name, rows.iter().map(|row| row[k]).collect()));
    let logs = [log(&model, &all.collect::<Vec<_>>())];
    let by = ["stiffness", "damping", "latency"];
    for window in [None, Some(0.5)] {
        let options = Options { second_order: true, window, ..Options::default() };
        let fit = found(&model, &logs, &by, &options);
        let expected = [true_stiffness, 0.08 * 1.4, late];
        for (one, expected) in fit.numbers.iter().zip(expected) {
            let off = (one.value - expected).abs();
            assert!(
                off < 4.0 * one.error && one.error < 0.1 * expected,
                "{window:?}: {one:?} {expected} {:?} {:?}",
                fit.blind,
                fit.numbers
            );
        }
        assert!(fit.correlation.abs() < 0.2, "{window:?}: {}", fit.correlation);
    }
    // Joints move by some rad/s, of which a tenth of a second makes 0.1 rad. A start's velocity is guessed by the first
    // rows to a tenth of that, even where the search begins with what made the log.
    parameters.stiffness = (&parameters.stiffness * (true_stiffness / 3.0)).unwrap();
    let noise = [(Kind::Joint, NOISE)].into();
    let options = Options { second_order: true, window: Some(0.1), max_iterations: 1, noise };
    let mut one = unknowns(&model, &parameters, &["latency"]).unwrap();
    one[0].value = late;
    let fit = fit(&model, &parameters, &logs, &one, &options).unwrap();
    let (n, ..) = fit.noise[&Kind::Joint];
    let size = NOISE * (2.0 * fit.cost[0] / n as f64).sqrt();
    assert!(size < 0.02, "{size} rad, then {:?}", fit.noise);
}

#[test]
fn tables_and_their_errors() {
    let (model, columns) = carried("{}");
    let header = columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(",");
    let row = |time: &str| {
        format!("{time},{}", columns[1..].iter().map(|(_, of)| of[0].to_string()).collect::<Vec<_>>().join(","))
    };
    let text = |rows: &[String]| format!("{header}\n{}\n", rows.join("\n"));
    let good = text(&[row("0"), row("0.05"), row("0.1")]);
    let read =
        Log::from_csv(&model, "a.csv", &good.replace("disc.x", "disc.x,status").replace(",0.13,", ",0.13,solved,"));
    let read = read.unwrap();
    assert_eq!((read.time.len(), read.channels.len(), &read.ignored[..]), (3, 7, &["status".to_owned()][..]));
    // Nothing measured in a cell; a joint without its robot; no command in the first row.
    let gap =
        Log::from_csv(&model, "a.csv", &good.replacen(",0.13,", ",,", 1).replace("fingers/left_1", "left_1")).unwrap();
    assert!(gap.channels.iter().any(|one| one.name == "disc.x" && one.values[0].is_nan() && one.values[1] == 0.13));
    let table: Vec<(&str, Vec<f64>)> = columns
        .iter()
        .map(|(name, of)| {
            (name.as_str(), if name.starts_with("u:") { [&[f64::NAN], &of[..60]].concat() } else { of.clone() })
        })
        .collect();
    let late = Log::new(&model, "a", &table.iter().map(|(name, of)| (*name, &of[..])).collect::<Vec<_>>()).unwrap();
    assert_eq!(late.commands[..4 * 60], log(&model, &columns).commands[..4 * 60]);

    let cases = [
        (String::new(), "a.csv: expected a line of column names, got an empty file"),
        (text(&[row("0"), row("0.05")]), "a.csv: expected at least 3 rows, got 2"),
        (
            text(&[row("0"), row("0.05"), row("0.05")]),
            "a.csv: line 4: column \"time\": expected a time after 0.05 s, got 0.05",
        ),
        (
            text(&[row("0"), row("nan"), row("0.05")]),
            "a.csv: line 3: column \"time\": expected a finite number, got \"nan\"",
        ),
        (
            text(&[row("0"), row("x"), row("0.05")]),
            "a.csv: line 3: column \"time\": expected a finite number, got \"x\"",
        ),
        (
            text(&[row("0"), row("0.05") + ",1", row("0.1")]),
            "a.csv: line 3: expected 12 cells as in the first line, got 13",
        ),
        (
            good.replace("u:fingers/left_1", "u:fingers/lefd_1"),
            "a.csv: column \"u:fingers/lefd_1\": there is no commanded joint \"fingers/lefd_1\"; did you mean \"fingers/left_1\"?",
        ),
        (
            good.replace("disc.x", "force:disk.x"),
            "a.csv: column \"force:disk.x\": there is no thing or body \"disk\"; did you mean \"disc\"?",
        ),
        (
            good.replace("disc.x", "force:disc"),
            "a.csv: column \"force:disc\": expected a name that ends with .x, .y or .z",
        ),
        (good.replace("disc.x", "disc.y"), "a.csv: column \"disc.y\": expected each column once"),
    ];
    for (text, expected) in cases {
        let error = Log::from_csv(&model, "a.csv", &text).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    for text in [good.replace("time", "times"), good.replace(',', ";")] {
        let (error, header) = (Log::from_csv(&model, "a.csv", &text).unwrap_err().to_string(), text.lines().next());
        let got =
            error.strip_prefix("a.csv: expected a column \"time\" in s, with commas between columns, got \"").unwrap();
        assert!(header.unwrap().starts_with(got.trim_end_matches('"')), "{error}");
    }
    let only = |names: &[&str]| {
        let own = columns.iter().filter(|(name, _)| names.iter().any(|one| name.starts_with(one)));
        let own: Vec<(&str, &[f64])> = own.map(|(name, of)| (name.as_str(), &of[..])).collect();
        Log::new(&model, "b", &own).unwrap_err().to_string()
    };
    assert!(only(&["time", "u:"]).starts_with("b: expected columns of what was measured, as \"disc.x\""));
}

#[test]
fn what_cannot_be_looked_for() {
    let (model, columns) = carried("{}");
    let logs = [log(&model, &columns)];
    let named = |by: &[&str]| fingertip::message(&unknowns(&model, &model.parameters, by).unwrap_err());
    assert_eq!(named(&["mas"]), "mas: there is no parameter \"mas\"; did you mean \"mass\"?");
    assert_eq!(named(&["mass.disk"]), "mass.disk: there is no mass \"disk\"; did you mean \"disc\"?");
    assert_eq!(named(&["com.disc[3]"]), "com.disc[3]: there is no number [3] of it");
    assert_eq!(named(&["spring"]), "spring: the scene has no spring");
    assert_eq!(named(&["mu", "mu"]), "mu: expected each number once, but \"mu\" stands twice");
    assert_eq!(
        named(&["stiffness", "stiffness.fingers/left_1"]),
        "stiffness.fingers/left_1: expected numbers apart from each other, but \"stiffness\" changes some of the same"
    );
    let changed = |change: &dyn Fn(&mut Unknown)| {
        let mut all = unknowns(&model, &model.parameters, &["mass.disc"]).unwrap();
        meant(&mut all, &model, &model.parameters, "mass.disc").unwrap().into_iter().for_each(change);
        fingertip::message(&fit(&model, &model.parameters, &logs, &all, &Options::default()).unwrap_err())
    };
    assert_eq!(changed(&|one| one.value = -1.0), "start of \"mass.disc\": expected a positive number, got -1");
    assert!(
        changed(&|one| one.bounds = (0.3, 0.1))
            .starts_with("bounds of \"mass.disc\": expected a lower and a larger upper")
    );
    assert!(
        changed(&|one| one.bounds = (0.3, 0.4)).contains("expected a number within the bounds 0.3 and 0.4, got 0.2")
    );
    assert!(changed(&|one| one.prior = Some((0.1, 0.0))).contains("expected a positive mean and a positive standard"));
    let all = unknowns(&model, &model.parameters, &["mass.disc"]).unwrap();
    let with =
        |options: Options| fingertip::message(&fit(&model, &model.parameters, &logs, &all, &options).unwrap_err());
    assert_eq!(
        with(Options { window: Some(0.0), ..Options::default() }),
        "window: expected a positive time in s, got 0"
    );
    let noise = [(Kind::Joint, f64::NAN)].into();
    assert_eq!(
        with(Options { noise, ..Options::default() }),
        "noise: joint: expected a positive standard deviation, got NaN"
    );
    assert_eq!(
        fingertip::message(&fit(&model, &model.parameters, &[], &all, &Options::default()).unwrap_err()),
        "fit: expected at least one log"
    );
}
