//! How the cost of a step grows, with joints, contacts, worlds and threads; how long a model and its first step take;
//! how much memory a differentiated rollout takes; how long large scenes and meshes take to set up.
//! `cargo bench --bench scaling` prints tables for `BENCHMARKS.md`, with `-- set-up` those of the latter alone, with
//! `-- solids` those of a cube among boxes and hulls.

use std::time::Instant;

use candle_core::{DType, Device, Result, Tensor, Var, bail};
use fingertip::Model;
use fingertip::description::{Articulation, Collision, PairRule, Scene, Shape};
use fingertip::rollout::rollout;
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;
use support::large;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HAND: &str = "assets/scenes/hand_ball.toml";
const KAPPA: f64 = 100.0;
/// Worlds where the number of worlds is not what is varied.
const WORLDS: usize = 256;
/// Steps of a rollout.
const STEPS: usize = 10;
/// The least of this many timings counts.
const REPEATS: usize = 15;

fn hand() -> Result<Scene> {
    let mut scene = Scene::load(HAND)?;
    scene.params.kappa = KAPPA;
    Ok(scene)
}

/// A hand of `hands` times 21 joints, all around the one ball.
fn hands(hands: usize) -> Result<Scene> {
    let mut scene = hand()?;
    let first = scene.robots[0].clone();
    for k in 1..hands {
        let mut robot = first.clone();
        robot.name = format!("hand {k}");
        scene.pairs.push(PairRule::exclude(robot.name.clone(), "table"));
        scene
            .robots
            .iter()
            .for_each(|other| scene.pairs.push(PairRule::exclude(robot.name.clone(), other.name.clone())));
        scene.pairs.push(PairRule::exclude(robot.name.clone(), robot.name.clone()));
        scene.robots.push(robot);
    }
    Ok(scene)
}

/// A chain of `n` joints whose tip touches a ball on the ground.
fn chain(n: usize) -> Result<Scene> {
    let mut scene = large::chain(n, false)?;
    scene.params.kappa = KAPPA;
    Ok(scene)
}

/// The hand with `n` spheres on its fingertips and no table.
fn fingertips(n: usize) -> Result<Scene> {
    let mut scene = hand()?;
    scene.objects.truncate(1);
    scene.pairs.retain(|rule| rule.a != "table" && rule.b != "table");
    let tips = ["1_thumb4", "2_index4", "3_middle4", "4_ring4", "5_little4"];
    let names: Vec<String> = tips.iter().map(|tip| format!("finger_r_link_{tip}")).collect();
    let spheres = (0..n).map(|k| {
        let along = 0.027 - 0.002 * (k / tips.len()) as f64;
        (names[k % tips.len()].as_str(), Collision::at(Shape::sphere(0.015), [-0.001, 0.0, along]))
    });
    scene.robots[0].articulation.replace_collisions(spheres)?;
    Ok(scene)
}

/// A cube on the palm of a four-finger hand. Two fingertips are boxes, two are hulls of 24 corners; or all four are
/// such hulls, and the links have the boxes of their URDF.
fn boxes_and_hulls(links: bool) -> Result<Scene> {
    let mut scene = Scene::load("assets/scenes/allegro_cube.toml")?;
    scene.params.kappa = KAPPA;
    let corner = |k: usize| {
        let (z, angle) = (1.0 - (2.0 * k as f64 + 1.0) / 24.0, k as f64 * 2.399_963);
        let around = (1.0 - z * z).sqrt();
        [around * angle.cos(), around * angle.sin(), z].map(|x| 0.012 * x)
    };
    let hull = Shape::hull(&(0..24).map(corner).collect::<Vec<_>>())?;
    let hand = &mut scene.robots[0].articulation;
    if links {
        *hand = Articulation::from_urdf("assets/robots/allegro16.urdf")?;
        let shapes = hand.links.iter_mut().flat_map(|link| &mut link.collisions).map(|collision| &mut collision.shape);
        shapes.filter(|shape| matches!(shape, Shape::Sphere { .. })).for_each(|tip| *tip = hull.clone());
    } else {
        let block = Shape::cuboid([0.01, 0.01, 0.012]);
        let tips = [("index_tip", &block), ("middle_tip", &hull), ("ring_tip", &block), ("thumb_tip", &hull)];
        hand.replace_collisions(tips.map(|(link, shape)| (link, Collision::centred(shape.clone()))))?;
    }
    Ok(scene)
}

/// A batch: the step, q, and u near where the joints are.
struct Work {
    step: Quasidynamic,
    q: Tensor,
    u: Var,
}

impl Work {
    fn new(scene: &Scene, worlds: usize) -> Result<Self> {
        let model = Model::new(scene, DType::F64, &Device::Cpu)?;
        let noise = |n: usize, size: f64| {
            let values = (0..worlds * n).map(|i| size * ((i as f64 * 12.9898).sin() * 43758.5453).fract());
            Tensor::from_vec(values.collect(), (worlds, n), &Device::Cpu)
        };
        let q = (model.home(worlds)? + noise(model.nq(), 5e-3)?)?;
        let u = (q.narrow(1, model.nq() - model.nu(), model.nu())? + noise(model.nu(), 1e-2)?)?;
        let u = Var::from_tensor(&u)?;
        Ok(Self { step: Quasidynamic::new(&model, &model.parameters)?, q, u })
    }

    /// µs per world: a cold step, a rollout's step, its share of the reverse pass, A to D; and Newton's iterations.
    fn measure(&self) -> Result<[f64; 5]> {
        let worlds = self.q.dim(0)?;
        let reports = self.step.step(&self.q, &self.u)?.reports;
        if let Some(report) = reports.iter().find(|report| report.status != Status::Solved) {
            bail!("timed are steps that are solved, got {report:?}");
        }
        let iterations = reports.iter().map(|r| r.iterations as f64).sum::<f64>() / worlds as f64;
        let controls = Var::from_tensor(&self.u.unsqueeze(1)?.repeat((1, STEPS, 1))?)?;
        let forward = best(|| rollout(&self.step, &self.q, &controls).map(drop))? / STEPS as f64;
        let both = best(|| rollout(&self.step, &self.q, &controls)?.q.sum_all()?.backward().map(drop))? / STEPS as f64;
        let step = best(|| self.step.step(&self.q, &self.u.detach()).map(drop))?;
        let linearize = best(|| self.step.linearize(&self.q, &self.u).map(drop))?;
        let [step, forward, backward, linearize] =
            [step, forward, both - forward, linearize].map(|time| 1e6 * time / worlds as f64);
        Ok([step, forward, backward, linearize, iterations])
    }
}

/// The least time of a call, s.
fn best(call: impl Fn() -> Result<()>) -> Result<f64> {
    call()?;
    let mut least = f64::INFINITY;
    for _ in 0..REPEATS {
        let start = Instant::now();
        call()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}

/// The exponent p of y ~ xᵖ by least squares of the logarithms.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().map(|(x, y)| (x.ln(), y.ln())).unzip();
    let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let above: f64 = x.iter().zip(&y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    above / x.iter().map(|x| (x - mean_x).powi(2)).sum::<f64>()
}

const HEAD: &str = "step, cold | iterations | rollout step | its backward | linearize |\n|--:|--:|--:|--:|--:|--:|";

fn row(name: &str, [step, forward, backward, linearize, iterations]: [f64; 5]) {
    let iterations = if iterations.is_nan() { String::new() } else { format!("{iterations:.1}") };
    println!("| {name} | {step:.2} | {iterations} | {forward:.2} | {backward:.2} | {linearize:.2} |");
}

/// A table over scenes of growing size, on one thread, with the exponents of its columns.
fn table(title: &str, scenes: impl IntoIterator<Item = (usize, Scene)>) -> Result<()> {
    println!("\n| {title} | {HEAD}");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(candle_core::Error::wrap)?;
    let mut points = [const { Vec::new() }; 4];
    for (n, scene) in scenes {
        let work = Work::new(&scene, WORLDS)?;
        let figures = pool.install(|| work.measure())?;
        row(&n.to_string(), figures);
        points.iter_mut().zip(figures).for_each(|(points, figure)| points.push((n as f64, figure)));
    }
    let [step, forward, backward, linearize] = points.map(|points| exponent(&points));
    row("exponent", [step, forward, backward, linearize, f64::NAN]);
    Ok(())
}

/// Peak resident memory of this process, bytes; none where the system does not tell.
fn peak() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| 1024.0 * kib)
}

/// The peak so far stays: this comes first.
fn memory() -> Result<()> {
    let (worlds, n_steps) = (4096, 100);
    let Work { step, q, u } = Work::new(&hand()?, worlds)?;
    let (nq, nu, nc) = (step.model().nq(), step.model().nu(), step.model().nc());
    let controls = Var::from_tensor(&u.unsqueeze(1)?.repeat((1, n_steps, 1))?)?;
    drop(u);
    let least = (8 * worlds * ((n_steps + 1) * nq + n_steps * (nu + 3 * nc))) as f64;
    let result = rollout(&step, &q, &controls)?;
    let cost = result.q.narrow(1, n_steps, 1)?.sqr()?.sum_all()?;
    drop(cost.backward()?);
    if let Some(peak) = peak() {
        println!(
            "A differentiated rollout of {worlds} worlds and {n_steps} steps: {:.0} MB at the peak, {:.1} times states, \
             controls and forces ({:.0} MB).",
            1e-6 * peak,
            peak / least,
            1e-6 * least
        );
    }
    Ok(())
}

/// How much two threads gain over one: calls take turns, so that a slow minute is one for both.
fn threads() -> Result<()> {
    let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().map_err(candle_core::Error::wrap);
    let pools = [pool(1)?, pool(2)?];
    let Work { step, q, u } = Work::new(&hand()?, 1024)?;
    let controls = u.detach().unsqueeze(1)?.repeat((1, 50, 1))?;
    let calls: [(&str, &(dyn Fn() -> Result<()> + Sync)); 3] = [
        ("step", &|| step.step(&q, &u.detach()).map(drop)),
        ("rollout of 50 steps", &|| rollout(&step, &q, &controls).map(drop)),
        ("linearize", &|| step.linearize(&q, &u).map(drop)),
    ];
    for (name, call) in calls {
        let mut least = [f64::INFINITY; 2];
        for _ in 0..4 * REPEATS {
            for (least, pool) in least.iter_mut().zip(&pools) {
                let start = Instant::now();
                pool.install(call)?;
                *least = least.min(start.elapsed().as_secs_f64());
            }
        }
        println!("1024 worlds, {name}: two threads are {:.2} times as fast as one.", least[0] / least[1]);
    }
    Ok(())
}

/// From the scene's file to a model, and that model's first step.
fn start() -> Result<()> {
    let begin = Instant::now();
    let scene = Scene::load(HAND)?;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let built = begin.elapsed().as_secs_f64();
    let step = Quasidynamic::new(&model, &model.parameters)?;
    let (q, u) = (model.home(1)?, model.tensor(&[&scene.control(0.0)[..]])?);
    let ready = begin.elapsed().as_secs_f64();
    step.step(&q, &u)?;
    let done = begin.elapsed().as_secs_f64();
    println!(
        "Model from its files {:.2} ms, step prepared {:.2} ms, first step {:.3} ms.",
        1e3 * built,
        1e3 * (ready - built),
        1e3 * (done - ready)
    );
    Ok(())
}

/// A mesh file's scene, read.
fn read_mesh(name: &str, bytes: impl AsRef<[u8]>) -> Result<f64> {
    let folder = std::env::temp_dir().join(format!("fingertip-scaling-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(name), bytes)?;
    let text = format!("[[object]]\nname = \"it\"\nmesh = \"{name}\"\nmass = 1\nfreedom = \"free\"\n");
    let time = once(|| Scene::from_toml(&text, &folder).map(drop).map_err(Into::into));
    std::fs::remove_dir_all(&folder)?;
    time
}

/// The least time of three calls, s.
fn once(call: impl Fn() -> Result<()>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        call()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}

/// Model and step of a scene.
fn set_up(scene: &Scene) -> Result<()> {
    let model = Model::new(scene, DType::F64, &Device::Cpu)?;
    Quasidynamic::new(&model, &model.parameters).map(drop)
}

/// A table of the time that one thing takes by its size, and its exponent.
fn growth(title: &str, sizes: [usize; 4], time: impl Fn(usize) -> Result<f64>) -> Result<()> {
    println!("\n| {title} | s |\n|--:|--:|");
    let mut points = Vec::new();
    for n in sizes {
        let time = time(n)?;
        println!("| {n} | {time:.3} |");
        points.push((n as f64, time));
    }
    println!("| exponent | {:.2} |", exponent(&points));
    Ok(())
}

/// A cube among boxes and hulls: all contacts, and only those that are near in force.
fn solids() -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(candle_core::Error::wrap)?;
    println!("\n| a cube among boxes and hulls: shapes of the hand, contacts, in force, worlds | {HEAD}");
    for (name, links, distance) in
        [("fingertips", false, None), ("all links", true, None), ("all links", true, Some(0.03))]
    {
        let mut scene = boxes_and_hulls(links)?;
        (scene.params.contact_distance, scene.params.fade) = (distance, distance.map_or(0.0, |_| 0.01));
        let force = distance.map_or("all".to_owned(), |distance| format!("up to {} cm", 100.0 * distance));
        let nc = Model::new(&scene, DType::F64, &Device::Cpu)?.nc();
        for worlds in [1, WORLDS] {
            let figures = pool.install(|| Work::new(&scene, worlds)?.measure())?;
            row(&format!("{name}, {nc}, {force}, {worlds}"), figures);
        }
    }
    for links in [false, true] {
        let Work { step, q, u } = Work::new(&boxes_and_hulls(links)?, 4)?;
        let program = step.as_tensor_program();
        let time = pool.install(|| once(|| program.linearize(&q, &u).map(drop)))?;
        println!(
            "{} contacts, four worlds: `linearize` of the tensor program {:.1} ms.",
            step.model().nc(),
            1e3 * time
        );
    }
    Ok(())
}

/// How long large scenes and meshes take until a step can be made.
fn set_ups() -> Result<()> {
    println!("\nSet-up, least of three times.");
    let of_scene = |scene: Scene| once(|| set_up(&scene));
    let reading = |n, fixed| once(|| set_up(&large::chain(n, fixed)?));
    growth("free balls, each may touch each; contacts grow with the square", [25, 50, 100, 200], |n| {
        of_scene(large::balls(n))
    })?;
    growth("revolute joints of a chain, from its URDF", [125, 250, 500, 1000], |n| reading(n, false))?;
    growth("fixed joints of a chain, from its URDF", [250, 500, 1000, 2000], |n| reading(n, true))?;
    let sizes = [12_500, 25_000, 50_000, 100_000];
    growth("points of a ball, as OBJ", sizes, |n| read_mesh("ball.obj", large::obj(&large::ball_points(n))))?;
    let sizes = [125_000, 250_000, 500_000, 1_000_000];
    growth("triangles of a ball with bumps, as STL", sizes, |n| read_mesh("ball.stl", large::stl(n, 0.05)))?;
    growth("triangles of a ball, as STL", sizes, |n| read_mesh("ball.stl", large::stl(n, 0.0)))?;
    if let Some(peak) = peak() {
        println!("\nPeak of memory so far: {:.0} MB.", peak / 1e6);
    }
    Ok(())
}

fn main() -> Result<()> {
    // The rest takes minutes.
    if std::env::args().any(|arg| arg == "set-up") {
        return set_ups();
    }
    if std::env::args().any(|arg| arg == "solids") {
        return solids();
    }
    memory()?;
    start()?;
    set_ups()?;
    threads()?;
    println!("\nµs per world; {WORLDS} worlds and one thread unless said, κ = {KAPPA}, f64.");
    let sizes = [7, 16, 21, 44];
    table("joints of a chain, 2 contacts", sizes.into_iter().map(|n| Ok((n, chain(n)?))).collect::<Result<Vec<_>>>()?)?;
    let scenes = [1, 2].into_iter().map(|n| Ok((21 * n, hands(n)?))).collect::<Result<Vec<_>>>()?;
    table("joints of one hand and two, 6 and 11 contacts", scenes)?;
    let sizes = [1, 2, 5, 10, 20, 40, 60];
    table("contacts of the hand", sizes.into_iter().map(|n| Ok((n, fingertips(n)?))).collect::<Result<Vec<_>>>()?)?;
    solids()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for threads in [1, cores] {
        println!("\n| worlds, {threads} thread(s) | {HEAD}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(candle_core::Error::wrap)?;
        for worlds in [1, 4, 16, 64, 256, 1024, 4096, 16384] {
            let work = Work::new(&hand()?, worlds)?;
            row(&worlds.to_string(), pool.install(|| work.measure())?);
        }
    }
    Ok(())
}
