//! Our own steps as the plant: late, with noise and with other parameters than the planner believes in, if that is asked for.

use std::path::Path;

use candle_core::{Result, bail};
use fingertip::description::Scene;
use fingertip::mpc::task::{Episode, Errors};
use fingertip::mpc::{Answer, Deviates, LONGEST, Measured, Simulator, Task, UnderWay};
use fingertip::overrides::Overrides;
use fingertip::show::{GoalRecord, Recorder, Recording, RecordingWriter, Source};
use fingertip::solve::Status;

use super::super::rollout;
use super::second_order::SecondOrder;

/// The step of a plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// The quasi-dynamic step, with harder contacts.
    QuasiDynamic,
    /// The second-order step: objects have momentum, and slide and roll on.
    SecondOrder,
}

/// How a plant differs from what the planner believes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its step.
    pub kind: Kind,
    /// κ, 1/J.
    pub kappa: f64,
    /// Time until a command takes effect, s.
    pub latency: f64,
    /// Standard deviations of the measured positions and rotations of objects, m and rad.
    pub noise: [f64; 2],
    /// Its parameters.
    pub with: Overrides,
}

/// A world that is commanded.
pub struct Plant {
    world: World,
    pub q: Vec<f64>,
    /// Steps of the planner's model in a control period.
    hold: usize,
    under_way: UnderWay,
    /// Steps until a command takes effect.
    latency: usize,
    noise: Noise,
    /// Steps that had no solution.
    pub unsolved: usize,
    recorder: Option<(Recorder, RecordingWriter)>,
}

enum World {
    /// With the forces from which its solves start.
    QuasiDynamic(Simulator, Vec<f64>),
    SecondOrder(SecondOrder),
}

impl Plant {
    /// At the start of an episode, at rest.
    pub fn new(
        task: &Task,
        options: &Options,
        (seed, episode): (u64, &Episode),
        record: Option<&Path>,
    ) -> Result<Self> {
        let simulator = simulator(task, options)?;
        let (hold, start) = (simulator.hold(), &episode.start);
        let longest = LONGEST as f64 * simulator.period();
        if options.latency > longest {
            bail!(
                "--latency: expected at most {LONGEST} control periods, {} ms, got {}",
                1e3 * longest,
                1e3 * options.latency
            );
        }
        let recorder = record.map(|path| {
            if options.kind != Kind::QuasiDynamic {
                bail!("--record: expected the quasi-dynamic plant");
            }
            let mut recorder = Recorder::new(&Source::of_task(task), simulator.step())?;
            recorder.put(&simulator.model().tensor(&[&start.q])?)?;
            recorder.recording.goals = GoalRecord::of_episode(task, episode)?;
            let writer = rollout::begin(path, &recorder.recording)?;
            Ok::<_, candle_core::Error>((recorder, writer))
        });
        let latency = (options.latency / simulator.period() * hold as f64).round();
        Ok(Self {
            q: start.q.clone(),
            hold,
            under_way: UnderWay::new(&start.u),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to some hundreds")]
            latency: latency as usize,
            noise: Noise::new(task, options.noise, seed, episode.number),
            unsolved: 0,
            recorder: recorder.transpose()?,
            world: match options.kind {
                Kind::QuasiDynamic => World::QuasiDynamic(simulator, Vec::new()),
                Kind::SecondOrder => {
                    let mut scene = task.scene.clone();
                    scene.params = options.with.params(&scene.params)?;
                    scene.params.kappa = options.kappa;
                    World::SecondOrder(SecondOrder::new(&scene, simulator.joints(), &options.with)?)
                }
            },
        })
    }

    /// What is measured now.
    pub fn measure(&mut self, task: &Task) -> Result<Measured> {
        let velocity = match &self.world {
            World::QuasiDynamic(..) => None,
            World::SecondOrder(world) => Some(world.velocity().to_vec()),
        };
        let q = task.simulator().plus(&self.q, &self.noise.draw())?;
        Ok(Measured { q, velocity, ..Measured::default() })
    }

    /// One control period under a controller's command, at whose start the object is so far from its goal.
    pub fn advance(&mut self, answer: &Answer, errors: &Errors) -> Result<()> {
        self.under_way.give(&answer.u);
        if let Some((recorder, _)) = &mut self.recorder {
            recorder.plan(answer)?;
            recorder.note_errors(errors);
        }
        let parts = self.under_way.during(self.latency, self.hold);
        let parts: Vec<_> = parts.into_iter().map(|(u, steps)| (u.to_vec(), steps)).collect();
        parts.iter().try_for_each(|(u, steps)| self.hold(u, *steps))
    }

    fn hold(&mut self, u: &[f64], steps: usize) -> Result<()> {
        match &mut self.world {
            World::SecondOrder(world) => {
                for _ in 0..steps {
                    let (q, unsolved) = world.advance(&self.q, u)?;
                    self.q = q;
                    self.unsolved += unsolved;
                }
            }
            World::QuasiDynamic(simulator, warm) => {
                if let Some((recorder, writer)) = &mut self.recorder {
                    for _ in 0..steps {
                        let record = recorder.step(simulator.step(), u.to_vec())?;
                        self.unsolved += usize::from(record.status != Status::Solved.name());
                        writer.step(&record)?;
                        recorder.recording.steps.push(record);
                    }
                    self.q = recorder.q().flatten_all()?.to_vec1()?;
                    return Ok(());
                }
                let held = simulator.step().hold(&self.q, u, warm, steps)?;
                self.unsolved += held.reports.iter().filter(|report| report.status != Status::Solved).count();
                self.q = held.q[held.q.len() - self.q.len()..].to_vec();
                *warm = held.warm[held.warm.len() - simulator.step().n_warm()..].to_vec();
            }
        }
        Ok(())
    }

    /// Ends the recording, if there is one.
    pub fn finish(self) -> Result<Option<Recording>> {
        let Some((recorder, writer)) = self.recorder else { return Ok(None) };
        writer.finish()?;
        Ok(Some(recorder.recording))
    }
}

/// The task's model with a plant's κ and parameters.
fn simulator(task: &Task, options: &Options) -> Result<Simulator> {
    let own = &task.scene.params;
    let params = options.with.params(own)?;
    if params.h != own.h {
        bail!("--with: params: h: expected none, it belongs to the task");
    }
    let model = task.simulator();
    let base = if params == *own {
        model.clone()
    } else {
        Simulator::new(&Scene { params, ..task.scene.clone() }, model.hold())?
    };
    let base = base.with_kappa(options.kappa)?;
    base.with_parameters(&options.with.parameters(base.model(), base.step().parameters())?)
}

/// What a sensor adds to the poses of objects. Joints are measured as they are.
struct Noise {
    /// Standard deviation of each degree of freedom (nv), m or rad.
    deviation: Vec<f64>,
    deviates: Deviates,
}

impl Noise {
    /// Draws depend on the seed and the episode, and are others than those of the episode's start and goal.
    fn new(task: &Task, [position, rotation]: [f64; 2], seed: u64, episode: usize) -> Self {
        let model = task.simulator().model();
        let mut deviation = vec![0.0; model.nv()];
        for c in model.tree.coordinates.iter().filter(|c| c.kind.nv() > 1) {
            for (own, (_, unit)) in deviation[c.v..].iter_mut().zip(c.kind.freedoms()) {
                *own = if *unit == "m" { position } else { rotation };
            }
        }
        Self { deviation, deviates: Deviates::new(!seed, episode as u64) }
    }

    fn draw(&mut self) -> Vec<f64> {
        let deviates = &mut self.deviates;
        self.deviation.iter().map(|&size| if size > 0.0 { size * deviates.normal() } else { 0.0 }).collect()
    }
}
