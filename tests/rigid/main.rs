//! Second-order contact: all descriptions of one problem against reference numbers, closed forms and each other; the
//! step's physics and gradients.

mod cart;
mod extremes;
mod joints;
mod methods;
mod problems;
mod qcqp;
mod second_order;
mod smooth;
mod stack;
mod steps;
