//! The tables of times.

use serde::Serialize;

use crate::table::table;

#[derive(Serialize)]
pub struct Report {
    pub scene: String,
    pub form: &'static str,
    pub dtype: &'static str,
    /// Or the device, if it is not the CPU.
    pub instruction_set: String,
    pub cores: usize,
    pub nq: usize,
    pub nv: usize,
    pub nu: usize,
    pub contacts: usize,
    pub kappa: f64,
    pub rows: Vec<Row>,
    /// The times of the same scene with less to do: what each simplification saves.
    pub savings: Vec<Saving>,
}

/// A changed scene on one thread, times in µs per world.
#[derive(Serialize)]
pub struct Saving {
    pub change: String,
    pub worlds: usize,
    /// Contacts that can still take part.
    pub contacts: usize,
    pub rollout: f64,
    pub backward: f64,
}

/// Times in µs per world.
#[derive(Serialize)]
pub struct Row {
    pub worlds: usize,
    pub threads: usize,
    /// Is this native code, or that of the form?
    pub native: bool,
    pub step: f64,
    pub rollout: f64,
    pub backward: f64,
    pub linearize: f64,
    /// Newton iterations of a cold step and of one of a rollout, mean over the worlds.
    pub iterations: f64,
    pub rollout_iterations: f64,
    /// The time of a whole rollout, s.
    #[serde(skip)]
    pub seconds: f64,
}

impl Report {
    pub fn text(&self) -> String {
        let mut table = table(
            &[
                "threads",
                "worlds",
                "code",
                "step",
                "iterations",
                "rollout step",
                "iterations",
                "its backward",
                "linearize",
            ],
            0,
        );
        for row in &self.rows {
            let time = |us: f64| if us < 100.0 { format!("{us:.2}") } else { format!("{us:.0}") };
            table.add_row([
                row.threads.to_string(),
                row.worlds.to_string(),
                String::from(if row.native { "native" } else { self.form }),
                time(row.step),
                format!("{:.1}", row.iterations),
                time(row.rollout),
                format!("{:.1}", row.rollout_iterations),
                time(row.backward),
                time(row.linearize),
            ]);
        }
        // What native code takes of the time of the row before.
        for pair in self.rows.windows(2).filter(|pair| pair[1].native) {
            let share = |of: fn(&Row) -> f64| format!("{:.2}", of(&pair[1]) / of(&pair[0]));
            let none = String::new;
            table.add_row([
                pair[1].threads.to_string(),
                pair[1].worlds.to_string(),
                String::from("ratio"),
                share(|row| row.step),
                none(),
                share(|row| row.rollout),
                none(),
                share(|row| row.backward),
                share(|row| row.linearize),
            ]);
        }
        format!(
            "{}: {} degrees of freedom, {} contacts, κ = {}; {} in {}, {}, {} cores; µs per world\n{table}\n{}",
            self.scene,
            self.nv,
            self.contacts,
            self.kappa,
            self.form,
            self.dtype,
            self.instruction_set,
            self.cores,
            self.savings_text()
        )
    }

    fn savings_text(&self) -> String {
        if self.savings.is_empty() {
            return String::new();
        }
        let of = format!("with less to do, {} worlds, 1 thread", self.savings[0].worlds);
        let mut table = table(&[&of, "contacts", "rollout step", "its backward"], 1);
        for Saving { change, contacts, rollout, backward, .. } in &self.savings {
            table.add_row([change.clone(), contacts.to_string(), format!("{rollout:.2}"), format!("{backward:.2}")]);
        }
        format!("{table}\n")
    }
}
