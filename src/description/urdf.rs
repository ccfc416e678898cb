//! Reading URDF through urdf-rs.
