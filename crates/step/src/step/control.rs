//! Control laws: functions of tensors that map a state and a reference to joint torques.
//!
//! With the errors e = q − q_d and ė = v − v_d of joints of one coordinate:
//!
//! ```text
//! PD                       τ = −K_p e − K_v v
//! with reference velocity  τ = −K_p e − K_v ė
//! with acceleration        τ = a_d − K_p e − K_v ė
//! gravity compensation     + g(q), or + b(q, v)                   add `Dynamics::gravity` or `Dynamics::bias`
//! computed torque          τ = M (a_d − K_p e − K_v ė) + b         M, b from `Dynamics::mass_matrix`, `Dynamics::bias`
//! ```
//!
//! Under computed torque with the true M and b the error obeys ë + K_v ė + K_p e = 0, critically damped for
//! K_v = 2 √K_p. M may be any other matrix; its error then acts as a disturbance.

use candle_core::{Result, Tensor};

/// Desired joint motion that a control law tracks: position, velocity and acceleration of n joints.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Position q_d (1 or B, n), rad or m.
    pub q: Tensor,
    /// Velocity v_d, rad/s or m/s.
    pub v: Tensor,
    /// Acceleration a_d, rad/s² or m/s².
    pub a: Tensor,
}

impl Reference {
    /// q_d = centre + A sin(ω t) and its derivatives at time t, s. The centre and the amplitude A are in rad or m, ω is
    /// in rad/s; each is (1 or B, n).
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn sinusoid(centre: &Tensor, amplitude: &Tensor, omega: &Tensor, t: f64) -> Result<Self> {
        let phase = (omega * t)?;
        let swing = amplitude.broadcast_mul(&phase.sin()?)?;
        let speed = amplitude.broadcast_mul(omega)?;
        Ok(Self {
            q: centre.broadcast_add(&swing)?,
            v: speed.broadcast_mul(&phase.cos()?)?,
            a: swing.broadcast_mul(&omega.sqr()?)?.neg()?,
        })
    }

    /// A constant position (1 or B, n) as a reference.
    ///
    /// # Errors
    /// If the device is out of memory.
    pub fn hold(q: &Tensor) -> Result<Self> {
        Ok(Self { q: q.clone(), v: q.zeros_like()?, a: q.zeros_like()? })
    }
}

/// Gains of a PD law, for each joint.
#[derive(Clone, Debug)]
pub struct Gains {
    /// K_p (1 or B, n), N·m/rad or N/m; 1/s² under computed torque.
    pub kp: Tensor,
    /// K_v (1 or B, n), N·m·s/rad or N·s/m; 1/s under computed torque.
    pub kv: Tensor,
}

impl Gains {
    /// K_p (1 or B, n) with K_v = 2 √K_p, critical damping at unit inertia.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn critical(kp: &Tensor) -> Result<Self> {
        Ok(Self { kp: kp.clone(), kv: (kp.sqrt()? * 2.0)? })
    }

    /// −K_p (q − q_d) − K_v v (B, n): PD towards a position.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn pd(&self, q: &Tensor, v: &Tensor, q_d: &Tensor) -> Result<Tensor> {
        let position = q.broadcast_sub(q_d)?.broadcast_mul(&self.kp)?;
        (position + v.broadcast_mul(&self.kv)?)?.neg()
    }

    /// −K_p (q − q_d) − K_v (v − v_d) (B, n): PD along a moving reference.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn pd_along(&self, q: &Tensor, v: &Tensor, reference: &Reference) -> Result<Tensor> {
        self.pd(q, &v.broadcast_sub(&reference.v)?, &reference.q)
    }

    /// a_d − K_p (q − q_d) − K_v (v − v_d) (B, n): the acceleration for computed torque. Used as a torque it is
    /// the law for joints of unit inertia.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn acceleration(&self, q: &Tensor, v: &Tensor, reference: &Reference) -> Result<Tensor> {
        self.pd_along(q, v, reference)?.broadcast_add(&reference.a)
    }

    /// Computed torque: M (a_d − K_p e − K_v ė) + b (B, n), with a mass matrix M (1 or B, n, n) and a bias b (1 or B,
    /// n).
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn computed_torque(
        &self,
        mass: &Tensor,
        bias: &Tensor,
        q: &Tensor,
        v: &Tensor,
        reference: &Reference,
    ) -> Result<Tensor> {
        let acceleration = self.acceleration(q, v, reference)?;
        mass.broadcast_mul(&acceleration.unsqueeze(1)?)?.sum(2)?.broadcast_add(bias)
    }
}

/// The mass matrices (B, n, n) with zeros off the diagonal: a deliberately wrong model.
///
/// # Errors
/// If the shape is wrong.
pub fn decoupled(mass: &Tensor) -> Result<Tensor> {
    let (_, n, _) = mass.dims3()?;
    mass.broadcast_mul(&Tensor::eye(n, mass.dtype(), mass.device())?.unsqueeze(0)?)
}

/// Explicit viscous friction −K_f v (B, n), with K_f (1 or B, n) in N·m·s/rad or N·s/m. The step itself adds
/// the joints' own damping, implicitly.
///
/// # Errors
/// If the shapes do not fit.
pub fn viscous(kf: &Tensor, v: &Tensor) -> Result<Tensor> {
    v.broadcast_mul(kf)?.neg()
}
