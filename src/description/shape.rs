//! Collision shapes.

/// A collision shape in its own frame, centred at the frame's origin. Lengths in metres, all positive.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// Ball.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// All points within `radius` of a segment on the z axis.
    Capsule {
        /// Radius.
        radius: f64,
        /// Half the length of the segment, caps not counted.
        half_length: f64,
    },
    /// Box with edges along the axes, optionally rounded.
    Box {
        /// Half the edge lengths, rounding included.
        half_extents: [f64; 3],
        /// Radius of the rounded edges and corners, from 0 to less than every half extent.
        rounding: f64,
    },
    /// Solid cylinder about the z axis.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Half the height.
        half_length: f64,
    },
    /// All points with z ≤ 0: the boundary plane goes through the frame's origin, its outward normal is +z.
    HalfSpace,
}

impl Shape {
    /// Numbers that describe a shape's size, [`Shape::sizes`] has this many.
    pub const SIZES: usize = 4;

    /// The sizes, padded with zeros: sphere `[r]`, capsule and cylinder `[r, half length]`,
    /// box `[half x, half y, half z, rounding]`, half-space none.
    pub fn sizes(&self) -> [f64; Self::SIZES] {
        match *self {
            Self::Sphere { radius } => [radius, 0.0, 0.0, 0.0],
            Self::Capsule { radius, half_length } | Self::Cylinder { radius, half_length } => {
                [radius, half_length, 0.0, 0.0]
            }
            Self::Box { half_extents: [x, y, z], rounding } => [x, y, z, rounding],
            Self::HalfSpace => [0.0; 4],
        }
    }

    /// The shape's name, as scene files spell it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sphere { .. } => "sphere",
            Self::Capsule { .. } => "capsule",
            Self::Box { .. } => "box",
            Self::Cylinder { .. } => "cylinder",
            Self::HalfSpace => "halfspace",
        }
    }
}
