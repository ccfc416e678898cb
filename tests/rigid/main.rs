//! Second-order contact: all descriptions of one problem against reference numbers, closed forms and each other; the
//! step's physics and gradients.

mod cart;
mod extremes;
mod joints;
#[path = "../support/measure.rs"]
mod measure;
mod methods;
mod qcqp;
mod smooth;
mod stack;
mod steps;
mod support;
