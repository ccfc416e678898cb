//! Why a step has no solution: which bodies are inside each other, and which of them nothing can part.

use candle_core::{Result, Tensor};
use fingertip::Model;
use fingertip::contact::Overlap;
use fingertip::description::{PairRule, Scene};
use fingertip::show::Recording;
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;

/// Overlaps that are tried alone, at most.
const TRIED: usize = 10;

/// Is there no step from here with these two bodies as the only pair?
fn has_no_way_out(overlap: &Overlap, scene: &Scene, step: &Quasidynamic, q: &Tensor, u: &Tensor) -> Result<bool> {
    let names = || scene.objects.iter().map(|o| &*o.name).chain(scene.robots.iter().map(|r| &*r.name));
    let (model, parameters, Overlap { a, b, .. }) = (step.model(), step.parameters(), overlap);
    let contact = (0..model.nc()).find(|&contact| model.contact_names(contact) == (a, b));
    let pair = contact.map_or(0, |contact| model.pairs.pair_of_contact[contact]);
    let of = |t: &Tensor, k: usize| t.flatten_all()?.get(k)?.to_scalar::<f64>();
    let mu = of(&parameters.mu, pair)?;
    let turning = model.pairs.torsional_pairs().position(|other| other == pair);
    let torsion = turning.map_or(Ok(0.0), |k| of(&parameters.torsion, k))?;
    let mut alone = Scene { params: model.params.clone(), ..scene.clone() };
    alone.pairs.extend(names().flat_map(|a| names().map(move |b| PairRule::exclude(a, b))));
    alone.pairs.push(PairRule { mu: Some(mu), torsion: Some(torsion), ..PairRule::include(a, b) });
    let model = Model::new(&alone, model.dtype, &model.device)?;
    // Its own are those of pairs, which are fewer.
    let own = |name: &str, t: &Tensor| {
        Ok(match name {
            "mu" => model.parameters.mu.clone(),
            "torsion" => model.parameters.torsion.clone(),
            _ => t.clone(),
        })
    };
    let result = Quasidynamic::new(&model, &parameters.map(own)?)?.step(q, u)?;
    Ok(result.reports[0].status != Status::Solved)
}

/// Why a step was not solved.
pub struct Why(String);

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Why {
    /// Explains the status of the step from q (1, nq) under u (1, nu).
    pub fn of(scene: &Scene, step: &Quasidynamic, q: &Tensor, u: &Tensor) -> Result<Self> {
        let result = step.step(q, u)?;
        let status = result.reports[0].status;
        let overlaps = step.model().overlaps(&result.contacts.phi.flatten_all()?.to_vec1::<f64>()?);
        Ok(Self(match status {
            Status::Infeasible => infeasible(scene, step, &overlaps, q, u)?,
            Status::IterationLimit if !overlaps.is_empty() => {
                format!("{}; {}", alone(status, step.model()), infeasible(scene, step, &overlaps, q, u)?)
            }
            Status::Frictionless => {
                format!("{}; {}", alone(status, step.model()), infeasible(scene, step, &overlaps, q, u)?)
            }
            Status::IterationLimit | Status::Unsettled => alone(status, step.model()),
            Status::BadInput => step.why_bad_input(q, u, 0)?,
            Status::Solved => "solved from a cold start, but not from the forces of the step before".to_owned(),
        }))
    }

    /// Explains the status of the recording's step with index `k`.
    pub fn of_recording(scene: &Scene, step: &Quasidynamic, recording: &Recording, k: usize) -> Result<Self> {
        let before = k.checked_sub(1).map_or(&recording.start, |before| &recording.steps[before].end);
        let tensor = |row: &[f64]| step.model().tensor(&[row]);
        let why = Self::of(scene, step, &tensor(&before.q)?, &tensor(&recording.steps[k].u)?)?;
        Ok(Self(format!("step {}: {why}", k + 1)))
    }
}

/// Explains a status other than bad input where no bodies overlap.
pub fn alone(status: Status, model: &Model) -> String {
    match status {
        Status::IterationLimit => {
            format!("no solution within {} iterations (params: max_iterations)", model.params.max_iterations)
        }
        Status::Unsettled => {
            "Coulomb's law was not settled, the relaxed answer stands (params: friction = \"relaxed\" has one always)"
                .to_owned()
        }
        Status::Frictionless => "friction was left out, as no motion opens all contacts with it".to_owned(),
        _ => "no motion keeps all contacts apart and all joints within their limits".to_owned(),
    }
}

/// Which overlap it is that has no way out, or that several have none together.
fn infeasible(scene: &Scene, step: &Quasidynamic, overlaps: &[Overlap], q: &Tensor, u: &Tensor) -> Result<String> {
    for overlap in overlaps.iter().take(TRIED) {
        if has_no_way_out(overlap, scene, step, q, u)? {
            return Ok(format!("{overlap}, and no motion parts them; {} excludes them", rule(overlap)));
        }
    }
    Ok(match overlaps {
        [] => alone(Status::Infeasible, step.model()),
        [one] => format!("{one}, and no motion parts them and keeps everything else apart"),
        [deepest, ..] => format!(
            "{} pairs of bodies overlap, and no motion parts all of them: {deepest} most of all; {} excludes these two",
            overlaps.len(),
            rule(deepest)
        ),
    })
}

fn rule(Overlap { a, b, .. }: &Overlap) -> PairRule {
    PairRule::exclude(a, b)
}
