//! The kinds of [`Cone`](super::cones::Cone), in the order of their numbers, and the dimensions of contacts.

/// Runs a block for each [`Cone`](super::cones::Cone) of a structure: limits, then joints with dry friction, then
/// tables. In the block it has the given name, and the motion T that it is of in its field `on`.
macro_rules! cones {
    ($s:expr, $gaps:expr, $cone:ident => $block:block) => {{
        use $crate::solve::cones::Cone as _;
        for l in 0..$s.n_limits {
            let $cone = $crate::solve::limit::Limit::of($s, $gaps, l);
            $block
        }
        for l in $s.dry() {
            let $cone = $crate::solve::dry::Dry::of($s, $gaps, l);
            $block
        }
        for places in &$s.tables {
            let $cone = $crate::solve::table::Table::read($gaps, places);
            $block
        }
    }};
}

/// Runs a block for the number N of a contact's force and displacement in a structure.
macro_rules! by_dimension {
    ($s:expr, $N:ident => $block:expr) => {
        if $s.dimension == $crate::solve::TURNING {
            const $N: usize = $crate::solve::TURNING;
            $block
        } else {
            const $N: usize = $crate::solve::SLIDING;
            $block
        }
    };
}

pub(crate) use by_dimension;
pub(super) use cones;
