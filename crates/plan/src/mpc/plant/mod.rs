//! Our own steps as the plant: late, with noise and with other parameters than the planner believes in, if that is
//! asked for.

mod second_order;

use candle_core::{Result, bail};

pub use self::second_order::{Advanced, SecondOrder};
use super::controller::Measured;
use super::sampling::Deviates;
use super::simulator::Simulator;
use super::task::{Episode, Task};
use super::under_way::UnderWay;
use fingertip_scene::Scene;
use fingertip_step::overrides::Overrides;
use fingertip_step::solve::Status;
use fingertip_step::step::{Quasidynamic, SparseRows};

/// The step of a plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The quasi-dynamic step, with harder contacts.
    QuasiDynamic,
    /// The second-order step: objects have momentum, and slide and roll on.
    SecondOrder,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::QuasiDynamic, Self::SecondOrder];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::QuasiDynamic => "quasi-dynamic",
            Self::SecondOrder => "second-order",
        }
    }
}

/// κ of a plant unless another is given, 1/J.
pub const KAPPA: f64 = 1e6;

/// Differences of a plant from what the planner believes.
#[derive(Clone, Debug)]
pub struct Options {
    /// The step that moves the plant.
    pub kind: Kind,
    /// κ, 1/J.
    pub kappa: f64,
    /// Time from a measurement until the command that answers it takes effect, s.
    pub latency: f64,
    /// Standard deviations of the measured positions and rotations of objects, m and rad.
    pub noise: [f64; 2],
    /// The parameters of the plant's step, which may differ from those of the planner's model.
    pub with: Overrides,
}

impl Default for Options {
    /// The quasi-dynamic step with hard contacts, and nothing else that the planner does not know.
    fn default() -> Self {
        Self { kind: Kind::QuasiDynamic, kappa: KAPPA, latency: 0.0, noise: [0.0; 2], with: Overrides::default() }
    }
}

/// A world that is commanded.
#[derive(Clone, Debug)]
pub struct Plant {
    /// The state (nq).
    pub q: Vec<f64>,
    /// Steps that had no solution.
    pub unsolved: usize,
    /// The planner's model with the plant's κ and parameters.
    simulator: Simulator,
    world: World,
    under_way: UnderWay,
    /// Steps until a command takes effect.
    latency: usize,
    noise: Noise,
}

/// Record of a control period, after each of its steps of the planner's model.
#[derive(Clone, Debug, Default)]
pub struct Period {
    /// States (hold, nq).
    pub q: Vec<f64>,
    /// Contact forces on B in world axes (hold, nc, 3), N.
    pub force: Vec<f64>,
}

#[derive(Clone, Debug)]
enum World {
    /// With the forces from which its solves start.
    QuasiDynamic(SparseRows),
    SecondOrder(Box<SecondOrder>),
}

impl Plant {
    /// At the start of an episode, at rest. Noise depends on the seed and the episode's number alone.
    ///
    /// # Errors
    /// If κ, the latency or a parameter is not possible.
    pub fn new(task: &Task, options: &Options, seed: u64, episode: &Episode) -> Result<Self> {
        if !(options.kappa.is_finite() && options.kappa > 0.0) {
            bail!("kappa: expected a positive number, got {}", options.kappa);
        }
        if let Some(x) = options.noise.iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
            bail!("noise: expected numbers from 0 up, got {x}");
        }
        let simulator = simulator(task, options)?;
        let world = match options.kind {
            Kind::QuasiDynamic => World::QuasiDynamic(SparseRows::default()),
            Kind::SecondOrder => {
                let mut scene = task.scene.clone();
                scene.params = options.with.params(&scene.params)?;
                scene.params.kappa = options.kappa;
                World::SecondOrder(Box::new(SecondOrder::new(&scene, &options.with)?))
            }
        };
        Ok(Self {
            q: episode.start.q.clone(),
            unsolved: 0,
            under_way: UnderWay::new(&episode.start.u),
            latency: simulator.steps_of(options.latency)?,
            noise: Noise::new(&simulator, options.noise, seed, episode.number),
            world,
            simulator,
        })
    }

    /// The quasi-dynamic step of the plant. A second-order plant has it too, for geometry, but does not move by it.
    pub fn step(&self) -> &Quasidynamic {
        self.simulator.step()
    }

    /// Measures the present state, with the sensor's noise.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn measure(&mut self) -> Result<Measured> {
        let velocity = match &self.world {
            World::QuasiDynamic(_) => None,
            World::SecondOrder(world) => Some(world.velocity().to_vec()),
        };
        let q = self.simulator.plus(&self.q, &self.noise.draw())?;
        Ok(Measured { q, velocity, ..Measured::default() })
    }

    /// One control period after a controller's command (nu).
    ///
    /// # Errors
    /// If the command has a wrong length.
    pub fn advance(&mut self, u: &[f64]) -> Result<Period> {
        let mut period = Period::default();
        for (u, steps) in self.give(u) {
            self.hold(&u, steps, &mut period)?;
        }
        Ok(period)
    }

    /// [`Plant::advance`] by steps that another makes, as one that records them: from where it is, under a command
    /// (nu), to the next q, and whether the step has a solution.
    ///
    /// # Errors
    /// If the plant is not quasi-dynamic, or a step returns an error.
    pub fn advance_by(
        &mut self,
        u: &[f64],
        mut step: impl FnMut(&Quasidynamic, Vec<f64>) -> Result<(Vec<f64>, bool)>,
    ) -> Result<()> {
        if matches!(self.world, World::SecondOrder(_)) {
            bail!("plant: expected the quasi-dynamic one");
        }
        for (u, steps) in self.give(u) {
            for _ in 0..steps {
                let (q, is_solved) = step(self.simulator.step(), u.clone())?;
                self.unsolved += usize::from(!is_solved);
                self.q = q;
            }
        }
        Ok(())
    }

    /// Queues a command u (nu) and gives the commands that act in the coming period, each with its number of steps.
    fn give(&mut self, u: &[f64]) -> Vec<(Vec<f64>, usize)> {
        self.under_way.give(u);
        let parts = self.under_way.during(self.latency, self.simulator.hold());
        parts.into_iter().map(|(u, steps)| (u.to_vec(), steps)).collect()
    }

    fn hold(&mut self, u: &[f64], steps: usize, period: &mut Period) -> Result<()> {
        match &mut self.world {
            World::SecondOrder(world) => {
                for _ in 0..steps {
                    let Advanced { q, force, unsolved } = world.advance(&self.q, u)?;
                    period.q.extend_from_slice(&q);
                    period.force.extend(force);
                    self.unsolved += unsolved;
                    self.q = q;
                }
            }
            World::QuasiDynamic(warm) => {
                let held = self.simulator.step().hold(&self.q, u, Some(warm), steps)?;
                self.unsolved += held.reports.iter().filter(|report| report.status != Status::Solved).count();
                self.q = held.q[held.q.len() - self.q.len()..].to_vec();
                *warm = held.warm.last();
                period.q.extend(held.q);
                period.force.extend_from_slice(&held.force.dense());
            }
        }
        Ok(())
    }
}

/// The task's model with a plant's κ and parameters.
fn simulator(task: &Task, options: &Options) -> Result<Simulator> {
    let own = &task.scene.params;
    let params = options.with.params(own)?;
    if params.h != own.h {
        bail!("params: h: expected none, it belongs to the task");
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

/// Noise of a sensor on the poses of objects. Joints are measured as they are.
#[derive(Clone, Debug)]
struct Noise {
    /// Standard deviation of each degree of freedom (nv), m or rad.
    deviation: Vec<f64>,
    deviates: Deviates,
}

impl Noise {
    /// Draws depend on the seed and the episode, and are others than those of the episode's start and goal.
    fn new(simulator: &Simulator, [position, rotation]: [f64; 2], seed: u64, episode: usize) -> Self {
        let model = simulator.model();
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
