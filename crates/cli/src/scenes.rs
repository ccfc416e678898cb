//! `fingertip scene`: scenes that come with the program, and new ones.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device};
use clap::Subcommand;
use fingertip::description::{Joint, PairRule, Robot, Scene};
use fingertip::shipped::{self, Kind};
use fingertip::show::Source;
use fingertip::step::Quasidynamic;
use fingertip::{Error, Model};

use super::inspect::Contents;
use super::message::warn;
use super::table::table;
use super::{Exit, Outcome};

/// Lists scenes, begins a new one, or writes out what comes with the program.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Lists the scenes and robots that come with the program.
    List,
    /// Writes a scene with a robot, a ball and the ground, with comments, to be changed.
    New {
        /// Robot (URDF or MJCF), or the name of one that comes with the program.
        robot: PathBuf,
        /// The new file, in a folder from which the robot's file can be reached [default: the robot's name].
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Writes the scenes, tasks, robots and goals that come with the program to a folder, to be changed.
    Copy {
        /// The folder; files that are there already are kept.
        #[arg(default_value = "assets")]
        folder: PathBuf,
    },
}

pub fn run(args: &Args) -> Outcome {
    match &args.what {
        What::List => list(),
        What::New { robot, out } => new(robot, out.as_deref()),
        What::Copy { folder } => copy(folder),
    }
}

fn list() -> Outcome {
    let mut scenes = table(&["scene", "robots", "objects", "joints"], 3);
    for name in Kind::Scene.names() {
        let scene = shipped::scene(name)?;
        let robots: Vec<&str> = scene.robots.iter().map(|robot| robot.name.as_str()).collect();
        let objects: Vec<&str> = scene.objects.iter().map(|object| object.name.as_str()).collect();
        scenes.add_row([name, &robots.join(", "), &objects.join(", "), &scene.commanded().count().to_string()]);
    }
    println!("{scenes}");
    println!("robots: {}", Kind::Robot.names().join(", "));
    println!("`cubes`, `pills` and `pills:60` are made on the spot.");
    println!("`fingertip view NAME` shows a scene, `fingertip scene copy` writes all of these to files.");
    Ok(Exit::Success)
}

fn copy(folder: &Path) -> Outcome {
    let (mut written, mut kept) = (0, 0);
    for path in shipped::paths() {
        let to = folder.join(&path);
        if to.exists() {
            kept += 1;
            continue;
        }
        let text = shipped::text(Path::new(&path)).unwrap_or_default();
        let parent = to.parent().unwrap_or(folder);
        fs::create_dir_all(parent).and_then(|()| fs::write(&to, text)).map_err(|error| Error::file(&to, error))?;
        written += 1;
    }
    println!("{written} files in {}; {kept} were there already", folder.display());
    Ok(Exit::Success)
}

fn new(robot: &Path, out: Option<&Path>) -> Outcome {
    let is_file = robot.exists();
    let own = || Kind::Robot.find(&robot.to_string_lossy());
    let file = if is_file { robot.to_owned() } else { PathBuf::from(own()?.1) };
    let stem = file.file_stem().map_or_else(|| "robot".into(), |stem| stem.to_string_lossy().into_owned());
    let out = out.map_or_else(|| PathBuf::from(&stem).with_extension("toml"), Path::to_owned);
    let folder = out.parent().unwrap_or(Path::new("")).to_owned();
    let place = if is_file { relative(robot, &folder)? } else { folder.join(&file) };
    // A robot of the program is written beside the scene, unless a file of its name is there.
    if !is_file && !place.exists() {
        let (texts, file) = own()?;
        fs::write(&place, texts.text(file)?).map_err(|error| Error::file(&place, error))?;
        println!("robot      {}", place.display());
    }
    let named = if is_file { place } else { file };
    let name: String = stem.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    let mut given = Given::read(name, &named, &folder)?;
    let text = template(&given, &folder).or_else(|error| {
        // Not all that is drawn has a hull.
        if !std::mem::take(&mut given.collides) { Err(error) } else { template(&given, &folder) }
    })?;
    // The ball and the ground are clear of what would touch them; whether it does is for the reader to say.
    let text = text.replace(COLLIDE, &format!("# {COLLIDE}"));
    warn(&Scene::from_toml(&text, &folder)?.all_warnings());
    let taken = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Error::invalid(out.display().to_string(), "is there already: expected --out FILE")
        }
        _ => Error::file(&out, error),
    };
    let mut file = fs::File::create_new(&out).map_err(taken)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(|error| Error::file(&out, error))?;
    let path = out.display();
    println!("scene      {path}\n");
    println!("`fingertip view {path}` shows it, `fingertip inspect {path}` lists its numbers and contacts.");
    Ok(Exit::Success)
}

/// Is this the name of an MJCF?
fn is_mjcf(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ["xml", "mjcf"].iter().any(|own| ending.eq_ignore_ascii_case(own)))
}

/// The path of a file from a folder: as it is where both are below the current folder or it is absolute.
fn relative(file: &Path, folder: &Path) -> Result<PathBuf, Error> {
    let whole = |path: &Path| fs::canonicalize(path).map_err(|error| Error::file(path, error));
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let (file, folder) = (whole(file)?, whole(here)?);
    let shared = file.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| "..");
    Ok(up.map(Path::new).chain(file.components().skip(shared).map(|part| Path::new(part.as_os_str()))).collect())
}

/// Radius of the ball, m.
const RADIUS: f64 = 0.03;
/// The ball is moved by this much, and this often, until nothing touches it, m.
const AWAY: f64 = 0.05;
const TRIES: usize = 40;
/// A joint that can go farther than this from its start is worth a script, rad or m.
const WORTH_MOVING: f64 = 0.01;
/// The ground is this far below the lowest shape, m.
const BELOW: f64 = 1e-3;

/// The line of a robot whose collision is off.
const COLLIDE: &str =
    "collide = true                 # no link of it has a collision shape: takes those that it is drawn with\n";

/// The robot that a scene is written for.
struct Given {
    name: String,
    /// The robot's file, relative to the scene's folder, and the key of a scene for files of this kind.
    file: String,
    key: &'static str,
    robot: Robot,
    /// The gravity that an MJCF has, where it is not the usual one, m/s².
    gravity: Option<[f64; 3]>,
    /// Is its collision off, so that it is offered the shapes that it is drawn with?
    collides: bool,
}

impl Given {
    fn read(name: String, file: &Path, folder: &Path) -> Result<Self, Error> {
        let path = folder.join(file);
        let is_mjcf = is_mjcf(file);
        let (key, robot, gravity) = if is_mjcf {
            let gravity = Scene::from_mjcf(&path).map_or(Scene::new().gravity, |scene| scene.gravity);
            ("mjcf", Robot::from_mjcf(name.clone(), path)?, gravity)
        } else {
            ("urdf", Robot::from_urdf(name.clone(), path)?, Scene::new().gravity)
        };
        let gravity = (gravity != Scene::new().gravity).then_some(gravity);
        let links = &robot.articulation.links;
        let is_bare = links.iter().all(|link| link.collisions.is_empty());
        let collides = is_bare && links.iter().any(|link| !link.visuals.is_empty());
        Ok(Self { name, file: file.to_string_lossy().into_owned(), key, robot, gravity, collides })
    }

    /// The axis against gravity that is nearest to it, and its sign: the ground is across it. z without gravity.
    fn up(&self) -> (usize, f64) {
        let gravity = self.gravity.unwrap_or(Scene::new().gravity);
        let axis = (0..3).max_by(|&i, &j| gravity[i].abs().total_cmp(&gravity[j].abs())).unwrap_or(2);
        (axis, if gravity[axis] > 0.0 { -1.0 } else { 1.0 })
    }

    /// The joints that are commanded, and the first of them that has some way to go.
    fn joints(&self) -> (Vec<&Joint>, Option<&Joint>) {
        let all = self.robot.articulation.joints.iter();
        let joints: Vec<&Joint> = all.filter(|joint| self.robot.is_commanded(joint)).collect();
        let goes = |joint: &&&Joint| joint.limits.is_none_or(|limits| limits.upper - self.home(joint) > WORTH_MOVING);
        let first = joints.iter().find(goes).or(joints.first()).copied();
        (joints, first)
    }

    /// The starting value of a joint.
    fn home(&self, joint: &Joint) -> f64 {
        joint.home(self.robot.home.get(&joint.name).copied())
    }
}

/// The text of a scene with a robot in which nothing touches the ball yet.
fn template(robot: &Given, folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    // Read once, as to read meshes and to make their hulls takes longest.
    let mut scene = Scene::from_toml(&text(robot, Some(([0.0; 3], 0.0))), folder)?;
    let contents = |mut scene: Scene| -> Result<Contents, Box<dyn std::error::Error>> {
        // A hand's own pairs are many, and say nothing of the ball and the ground.
        scene.pairs.push(PairRule::exclude(&robot.name, &robot.name));
        let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
        Quasidynamic::check_model(&model, &model.parameters)?;
        Ok(Contents::of(&Source { name: robot.name.clone(), text: String::new(), scene }, &model, &model.parameters)?)
    };
    let alone = Scene { objects: Vec::new(), pairs: Vec::new(), ..scene.clone() };
    let bodies = contents(alone)?.bodies;
    let (axis, sign) = robot.up();
    let last = bodies.last().map_or([0.0; 3], |body| body.position);
    let lowest = bodies.iter().map(|body| sign * body.position[axis]).fold(f64::INFINITY, f64::min);
    let mut ground = if lowest.is_finite() { lowest - BELOW } else { 0.0 };
    // Gaps say how far the ground has to sink and whether the ball is clear of the robot.
    let place = |k: usize, ground: f64| {
        let mut ball = last;
        ball[(axis + 1) % 3] += AWAY * k as f64;
        ball[axis] = sign * (ground + RADIUS);
        ball
    };
    for k in 0..TRIES {
        let ball = place(k, ground);
        for object in &mut scene.objects {
            let at = &mut object.pose.translation.vector;
            match object.name.as_str() {
                "ball" => *at = ball.into(),
                _ => at[axis] = sign * ground,
            }
        }
        let pairs = contents(scene.clone())?.pairs;
        let gap = |a: &str, b: &str| {
            let is = |pair: &&super::inspect::Pair| {
                pair.a.body == a && pair.b.body != b || pair.b.body == a && pair.a.body != b
            };
            pairs.iter().filter(is).map(|pair| pair.gap).fold(f64::INFINITY, f64::min)
        };
        let depth = gap("ground", "ball");
        if depth < 0.5 * BELOW {
            ground += depth - BELOW;
        } else if gap("ball", "ground") > BELOW {
            return Ok(text(robot, Some((ball, ground))));
        }
    }
    Ok(text(robot, Some((place(0, ground), ground))))
}

/// A text as TOML has it, which for names and paths is as JSON does.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A number with at most four decimals.
fn plain(x: f64) -> String {
    let text = format!("{x:.4}");
    let text = text.trim_end_matches('0');
    if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
}

/// The scene's text; `things`: the ball's position and the ground's height.
fn text(robot: &Given, things: Option<([f64; 3], f64)>) -> String {
    let Given { name, file, key, .. } = robot;
    let (title, name, file) = (name, quoted(name), quoted(file));
    let (joints, moved) = robot.joints();
    // What an MJCF says of these is kept.
    let own = if *key == "mjcf" { "# " } else { "" };
    let gravity =
        robot.gravity.map_or(String::new(), |gravity| format!("gravity = {gravity:?}   # m/s^2, the file's\n"));
    let mut text = format!(
        "# {title} and a ball. All numbers are SI and radians. `fingertip view` shows this scene, `fingertip inspect` lists it.\n\n\
         [params]\n\
         h = 0.01                       # s, one step\n\
         kappa = 1e4                    # 1/J, how hard contact is; or hover = 1e-4, the gap in m under the lightest thing at rest\n\
         friction = \"coulomb\"           # or \"relaxed\": faster, but a slip opens a gap\n\
         contact_distance = 0.02        # m: pairs farther apart take no part; without it fingers push a ball that may roll, a little,\n\
                                        # from anywhere, and plans see the way to it\n\
         {gravity}\n\
         [[robot]]\n\
         name = {name}\n\
         {key} = {file}\n\
         {own}freedom = \"fixed\"              # of its root link; \"free\" is a floating base\n\
         {own}stiffness = {{ default = 10.0 }} # N·m/rad or N/m, of the springs that pull the joints to their commands; or by joint:\n"
    );
    for joint in &joints {
        let unit = joint.kind.coordinates()[0].1;
        let limits =
            joint.limits.map_or("no limits".to_owned(), |l| format!("{} to {}", plain(l.lower), plain(l.upper)));
        let _ = writeln!(text, "#   {}: {}, {limits} {unit}", joint.name, joint.kind.motion());
    }
    if let Some(joint) = moved {
        let _ = writeln!(text, "{own}home = {{ {} = {} }}", quoted(&joint.name), plain(robot.home(joint)));
    }
    if robot.collides {
        text.push_str(COLLIDE);
    }
    let Some(([x, y, z], ground)) = things else { return text };
    let (axis, sign) = robot.up();
    let normal = [0, 1, 2].map(|k| if k == axis { plain(sign) } else { "0.0".to_owned() });
    let _ = write!(
        text,
        "\n[[object]]\n\
         name = \"ball\"\n\
         sphere = {RADIUS}                  # m; or box = half extents, capsule or cylinder = [radius, half length], mesh = \"cup.stl\", …\n\
         mass = 0.1                     # kg\n\
         freedom = \"free\"               # or planar, translation, fixed\n\
         position = [{}, {}, {}]\n\n\
         [[object]]\n\
         name = \"ground\"\n\
         halfspace = [{}, {}] # normal and offset\n\n\
         [[pair]]                       # friction, and pairs that are left out (enabled = false); later rules win\n\
         a = \"ball\"\n\
         b = {name}\n\
         mu = 0.8\n",
        plain(x),
        plain(y),
        plain(z),
        normal.join(", "),
        plain(ground)
    );
    if let Some(joint) = moved {
        let from = robot.home(joint);
        let to = joint.limits.map_or(from + 0.1, |limits| from + 0.2 * (limits.upper - from));
        let _ = write!(
            text,
            "\n# What `fingertip rollout` commands: keyframes by time, linear in between.\n\
             [[script]]\ntime = 0.0\nu = {{ {0} = {1} }}\n\n[[script]]\ntime = 1.0\nu = {{ {0} = {2} }}\n",
            quoted(&joint.name),
            plain(from),
            plain(to)
        );
    }
    text
}
