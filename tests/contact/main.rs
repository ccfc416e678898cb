//! Contacts: distances and contact points of shapes, and steps in which they matter.

mod collision;
mod concave;
mod convex;
mod flat;
mod frame;
mod geometry;
mod grid;
mod hollows;
mod hover;
mod lanes;
mod no_contacts;
mod overlap;
mod pair_formulas;
mod pair_gradients;
mod pair_rules;
mod pairs;
mod reach;
mod reduced_hulls;
mod separation;
mod ties;
mod torsion;
mod wedge;
