//! The solve: what a step promises at random and hostile states, by both friction laws.

mod coulomb;
mod elimination;
mod epsilon;
mod formulas;
mod hostile;
mod random_states;
mod solver;
mod states;
