//! Which numbers of a contact problem can be nonzero. This is worked out once per model.
//!
//! P is block-diagonal and J follows the kinematic tree, so H = P + Σ Jᵀ S J is sparse. Degrees of freedom are
//! eliminated in an order that keeps it sparse: minimum degree. That takes leaves of the tree first, which gives the
//! factor no fill-in (Featherstone ch. 6). Only contacts between branches cause fill-in.

use std::ops::{Deref, Range};
use std::sync::Arc;

use super::cone::{SLIDING, TURNING, has_eight};
use super::elimination::{Graph, rows};
use super::law::Law;
use crate::tensor::operation::Kernels;
use fingertip_lanes::factor::Pattern;
use fingertip_lanes::lane::{InstructionSet, Real, Zip};
use fingertip_scene::{Friction, Settings};

/// Contacts in a group, unless a structure is told [which belong together](Structure::with_groups).
const GROUP: usize = 5;

/// Numbers of a table among a problem's gaps: F, what turning by one moves the centre of mass by along x and y, and c.
pub(crate) const TABLE_OPERAND: usize = 4;

/// Sparsity of a family of contact problems: P's entries, the contacts' columns, the factor.
#[derive(Clone, Debug)]
pub struct Structure {
    /// The number of degrees of freedom.
    pub nv: usize,
    /// The leading rows of the factors. The rows behind them are private: at most one contact depends on them and P
    /// couples them to nothing, so Newton's method eliminates them contact by contact.
    pub(crate) n_shared: usize,
    /// The number of leading rows if H couples all of them with each other, else 0.
    pub(crate) n_dense: usize,
    /// The number of screws.
    pub ns: usize,
    /// Row of each degree of freedom in the factors; elimination goes from the last row up.
    pub(crate) place: Vec<usize>,
    /// The entries of P that can be nonzero.
    pub(crate) entries: Vec<Entry>,
    /// Entries of P that couple shared degrees of freedom: the index among P's entries and the index among those of H.
    pub(crate) shared_entries: Vec<(usize, usize)>,
    /// Indices of P's off-diagonal entries.
    pub(crate) couplings: Vec<usize>,
    pub(crate) contacts: Vec<ContactColumns>,
    /// Numbers of a contact's force: 3, or 4 where contacts resist turning about their normal, see [`super::cone`].
    pub(crate) dimension: usize,
    /// Lengths of the groups of contacts that are passed over together, none of them 0: see [`super::presence`].
    pub(crate) groups: Vec<usize>,
    /// Place and sign of the degree of freedom that each limit bounds; then, with sign 1, of those with dry friction.
    pub(crate) limits: Vec<(usize, f64)>,
    /// The number of limits without dry friction.
    pub(crate) n_limits: usize,
    /// Bodies on tables. Their forces are behind those of `limits`, three numbers each.
    pub(crate) tables: Vec<TablePlaces>,
    /// Sparsity pattern of the factor of P alone; `factor_h` is that of H.
    pub(crate) factor_p: Pattern,
    pub(crate) factor_h: Pattern,
    /// Indices of P's diagonal entries.
    pub(crate) diagonal: Vec<usize>,
    /// Private degrees of freedom that have limits or dry friction.
    pub(crate) limited: Vec<usize>,
    /// Sum of the contacts' slots.
    pub(crate) n_slots: usize,
    /// The friction law of all contacts.
    pub(crate) friction: Friction,
    /// How much stiffer friction is than normal forces, by Coulomb's law.
    pub(crate) impratio: f64,
    pub(crate) settings: Settings,
    pub(crate) kernels: Kernels,
}

/// An entry P_ij = P_ji.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) row: usize,
    pub(crate) column: usize,
    /// Index of this entry among those of H; `in_p` is the one in the pattern of P alone.
    pub(crate) in_h: usize,
    pub(crate) in_p: usize,
}

/// The sparsity of a contact's Jacobian: the degrees of freedom that move the contact, and their screws.
#[derive(Clone, Debug)]
pub(crate) struct ContactColumns {
    /// Index of this contact's first slot in the list of all contacts' slots.
    pub(crate) first: usize,
    /// Shared by the contacts of two bodies, so that loops over contacts find most of it in the cache.
    slots: Arc<Slots>,
}

/// What moves a contact: the same for all contacts of two bodies.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    /// Places of the degrees of freedom that move the contact, ascending: one slot each.
    pub(crate) dofs: Vec<usize>,
    /// Number of slots of shared degrees of freedom, which come first.
    pub(crate) n_shared: usize,
    /// `n_shared` if the contact's shared degrees of freedom are the leading rows of H and all of these are coupled,
    /// else 0.
    pub(crate) n_leading: usize,
    /// Places of the private degrees of freedom.
    pub(crate) private: Range<usize>,
    /// Do the contact's private degrees of freedom have limits or dry friction?
    pub(crate) limited: bool,
    /// (screw, slot, on B?), slot by slot: a slot's column is the sum of its screws' velocities at p_B, less those at
    /// p_A.
    pub(crate) columns: Vec<(usize, usize, bool)>,
    /// Entry of H of each pair of slots (0, 0), (1, 0), (1, 1), (2, 0) ….
    pub(crate) entries: Vec<usize>,
}

impl Deref for ContactColumns {
    type Target = Slots;

    #[inline(always)]
    fn deref(&self) -> &Slots {
        &self.slots
    }
}

/// A body on a table: where the numbers of both are.
#[derive(Clone, Debug)]
pub(crate) struct TablePlaces {
    /// Places of the body's degrees of freedom x, y and yaw.
    pub(crate) dofs: [usize; 3],
    /// Entries of H: xx, xy, yy, x yaw, y yaw, yaw yaw.
    pub(crate) entries: [usize; 6],
    /// Index of the first of its three forces among those of limits.
    pub(crate) force: usize,
    /// Index of the first of its four numbers among slacks.
    pub(crate) slack: usize,
    /// Index of the first of its [`TABLE_OPERAND`] numbers among the gaps.
    pub(crate) numbers: usize,
}

/// Kinematic paths of a contact's two sides: the (screw, degree of freedom) pairs that move side A and side B, from the
/// root down.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactPaths {
    /// Screws that move side A, with their degrees of freedom.
    pub a: Vec<(usize, usize)>,
    /// Screws that move side B, with their degrees of freedom.
    pub b: Vec<(usize, usize)>,
}

impl Structure {
    /// Permutes δ from the order of v to elimination order.
    #[inline(always)]
    pub(crate) fn place_all<R: Real>(&self, delta: &[R], to: &mut [R]) {
        for (&delta, &place) in delta.iter().zip_inline(&self.place) {
            to[place] = delta;
        }
    }

    /// The structure of problems with `nv` degrees of freedom moved by `ns` screws, with these entries (row, column) of
    /// P (each off-diagonal pair once; the whole diagonal must be there), contacts and limits (degree of freedom, sign
    /// of the gap's slope).
    pub fn new(
        nv: usize,
        ns: usize,
        entries: &[(usize, usize)],
        contacts: &[ContactPaths],
        limits: &[(usize, f64)],
    ) -> Self {
        let mut graph = Graph::new(nv);
        entries.iter().for_each(|&(i, j)| graph.join(i, j));
        let graph_p = graph.clone();
        for paths in contacts {
            graph.join_all(paths.a.iter().chain(&paths.b).map(|&(_, dof)| dof));
        }
        let private = private(nv, &graph_p, contacts);
        let n_shared = nv - private.len();
        let order = graph.minimum_degree(private);
        let place = rows(&order);
        let (factor_p, factor_h) = (graph_p.eliminate(&order), graph.eliminate(&order));
        let entries: Vec<_> = entries
            .iter()
            .map(|&(i, j)| {
                let (row, column) = (place[i].max(place[j]), place[i].min(place[j]));
                Entry { row, column, in_h: factor_h.at(row, column), in_p: factor_p.at(row, column) }
            })
            .collect();
        let limits: Vec<_> = limits.iter().map(|&(dof, sign)| (place[dof], sign)).collect();
        let mut has_limit = vec![false; nv];
        limits.iter().filter(|limit| limit.0 >= n_shared).for_each(|limit| has_limit[limit.0] = true);
        let limited = (0..nv).filter(|&place| has_limit[place]).collect();
        let mut n_slots = 0;
        let contacts: Vec<ContactColumns> = contacts
            .chunk_by(|one, next| one == next)
            .flat_map(|alike| {
                let slots = Arc::new(Slots::new(&alike[0], &place, &has_limit, n_shared, &factor_h));
                std::iter::repeat_n(slots, alike.len())
            })
            .map(|slots| {
                let first = n_slots;
                n_slots += slots.dofs.len();
                ContactColumns { first, slots }
            })
            .collect();
        let groups = contacts.chunks(GROUP).map(<[_]>::len).collect();
        let shared = entries.iter().enumerate().filter(|(_, entry)| entry.row < n_shared);
        let shared_entries = shared.map(|(k, entry)| (k, entry.in_h)).collect();
        let couplings = (0..entries.len()).filter(|&k| entries[k].row != entries[k].column).collect();
        let mut diagonal = vec![0; nv];
        for (k, &Entry { row, column, .. }) in entries.iter().enumerate() {
            if row == column {
                diagonal[row] = k;
            }
        }
        Self {
            nv,
            n_shared,
            n_dense: if factor_h.is_dense(n_shared) { n_shared } else { 0 },
            ns,
            place,
            entries,
            shared_entries,
            couplings,
            contacts,
            dimension: SLIDING,
            groups,
            n_limits: limits.len(),
            limits,
            tables: Vec::new(),
            factor_p,
            factor_h,
            n_slots,
            diagonal,
            limited,
            friction: Friction::default(),
            impratio: 1.0,
            settings: Settings::default(),
            kernels: Kernels::default(),
        }
    }

    /// This structure with another friction law; [`Structure::new`] has the relaxed one.
    pub fn with_friction(self, friction: Friction) -> Self {
        Self { friction, kernels: Kernels::default(), ..self }
    }

    /// This structure with friction so much stiffer than normal forces, by Coulomb's law: see
    /// [`Params::impratio`](fingertip_scene::Params::impratio). [`Structure::new`] has 1.
    pub fn with_impratio(self, impratio: f64) -> Self {
        Self { impratio, kernels: Kernels::default(), ..self }
    }

    /// This structure with dry friction in these degrees of freedom. [`Structure::new`] has none.
    pub fn with_dry_friction(mut self, dofs: &[usize]) -> Self {
        for &dof in dofs {
            let place = self.place[dof];
            self.limits.push((place, 1.0));
            if place >= self.n_shared && !self.limited.contains(&place) {
                self.limited.push(place);
            }
            for contact in self.contacts.iter_mut().filter(|contact| contact.private.contains(&place)) {
                Arc::make_mut(&mut contact.slots).limited = true;
            }
        }
        Self { kernels: Kernels::default(), ..self }
    }

    /// This structure with bodies on tables: the degrees of freedom x, y and yaw of each, which P couples. They come
    /// after [dry friction](Structure::with_dry_friction). [`Structure::new`] has none.
    pub fn with_tables(self, bodies: &[[usize; 3]]) -> Self {
        let of = |(k, dofs): (usize, &[usize; 3])| {
            let [x, y, yaw] = dofs.map(|dof| self.place[dof]);
            let pairs = [(x, x), (x, y), (y, y), (x, yaw), (y, yaw), (yaw, yaw)];
            let entries = pairs.map(|(i, j)| self.factor_h.at(i, j));
            let n = self.limits.len();
            let slack = 2 * n - self.n_limits + 4 * k;
            TablePlaces { dofs: [x, y, yaw], entries, force: n + 3 * k, slack, numbers: n + TABLE_OPERAND * k }
        };
        let tables = bodies.iter().enumerate().map(of).collect();
        Self { tables, kernels: Kernels::default(), ..self }
    }

    /// This structure with other settings of the solve; [`Structure::new`] has the defaults.
    pub fn with_settings(self, settings: Settings) -> Self {
        Self { settings, kernels: Kernels::default(), ..self }
    }

    /// This structure with contacts that resist turning about their normal too. Those of [`Structure::new`] only resist
    /// sliding.
    pub fn with_torsion(self) -> Self {
        Self { dimension: TURNING, kernels: Kernels::default(), ..self }
    }

    /// This structure with contacts that belong together, as the contacts of two bodies do: the lengths of all groups,
    /// one after the other. Groups of which no contact has weight cost next to nothing.
    ///
    /// # Panics
    /// If they are not as many as there are contacts.
    pub fn with_groups(self, groups: Vec<usize>) -> Self {
        assert_eq!(groups.iter().sum::<usize>(), self.nc(), "every contact is in a group");
        Self { groups, kernels: Kernels::default(), ..self }
    }

    /// The number of contacts.
    pub fn nc(&self) -> usize {
        self.contacts.len()
    }

    /// The number of forces of joint limits, counting lower and upper ones separately, of degrees of freedom with dry
    /// friction, and of tables, three each.
    pub fn nl(&self) -> usize {
        self.limits.len() + 3 * self.tables.len()
    }

    /// The number of gaps, of largest forces of dry friction, and of tables' numbers, four each.
    pub fn n_gaps(&self) -> usize {
        self.limits.len() + TABLE_OPERAND * self.tables.len()
    }

    /// Length of the slacks: one number for each limit, two for dry friction, four for each table.
    pub(super) fn n_slacks(&self) -> usize {
        self.n_limits + 2 * self.n_dry() + 4 * self.tables.len()
    }

    /// The number of products of a slack and a force: one for each limit and table, two for dry friction.
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    pub(crate) fn n_products(&self) -> f64 {
        (self.limits.len() + self.n_dry() + self.tables.len()) as f64
    }

    /// The number of entries of P.
    pub fn np(&self) -> usize {
        self.entries.len()
    }

    /// The number of degrees of freedom with dry friction.
    pub(crate) fn n_dry(&self) -> usize {
        self.dry().len()
    }

    /// The limits alone: degree of freedom and sign of each.
    #[inline(always)]
    pub(crate) fn one_sided(&self) -> &[(usize, f64)] {
        &self.limits[..self.n_limits]
    }

    /// Indices among `limits` of the degrees of freedom with dry friction.
    #[inline(always)]
    pub(crate) fn dry(&self) -> Range<usize> {
        self.n_limits..self.limits.len()
    }

    /// Can steps be solved in single precision? Not by Coulomb's law, nor with contacts of four dimensions.
    pub(crate) fn has_single_precision(&self) -> bool {
        self.friction.has_single_precision() && self.dimension == SLIDING
    }

    /// The instruction set that solves run on where one is asked for, or the widest that they are compiled for.
    pub(crate) fn narrowed(&self, set: InstructionSet) -> InstructionSet {
        if has_eight(self.dimension) { set } else { set.min(InstructionSet::Four) }
    }

    /// Length of the contacts' forces, [`Structure::dimension`] numbers each.
    #[inline(always)]
    pub(crate) fn n_force(&self) -> usize {
        self.dimension * self.nc()
    }

    /// The number of coefficients of torsional friction: one per contact, or none.
    pub(crate) fn n_gammas(&self) -> usize {
        if self.dimension == TURNING { self.nc() } else { 0 }
    }

    /// Length of the solver's forces: those of the contacts, one number per limit and per degree of freedom with dry
    /// friction, three per table.
    pub(crate) fn n_eta(&self) -> usize {
        self.n_force() + self.nl()
    }
}

impl ContactColumns {
    /// Has the contact no private degrees of freedom? Then its response A is W itself.
    #[inline(always)]
    pub(crate) fn is_rigid(&self) -> bool {
        self.private.is_empty()
    }

    /// Places in elimination order of the shared degrees of freedom that move the contact.
    #[inline(always)]
    pub(crate) fn shared(&self) -> &[usize] {
        &self.dofs[..self.n_shared]
    }

    /// [`ContactColumns::shared`], or nothing if these are the leading rows, which need no list.
    #[inline(always)]
    pub(crate) fn scattered(&self) -> &[usize] {
        &self.dofs[self.n_leading..self.n_shared]
    }

    /// This contact's columns among those of all contacts.
    #[inline(always)]
    pub(crate) fn part<'a, T>(&self, columns: &'a [T]) -> &'a [T] {
        &columns[self.first..self.first + self.dofs.len()]
    }

    /// This contact's columns of shared degrees of freedom, among the columns of all contacts.
    #[inline(always)]
    pub(crate) fn shared_part<'a, T>(&self, columns: &'a [T]) -> &'a [T] {
        &columns[self.first..self.first + self.n_shared]
    }

    /// This contact's columns of private degrees of freedom, among the columns of all contacts.
    #[inline(always)]
    pub(crate) fn private_part<'a, T>(&self, columns: &'a [T]) -> &'a [T] {
        &columns[self.first + self.n_shared..self.first + self.dofs.len()]
    }

    /// Does this contact have the same slots as another one of the same two bodies?
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.slots, &other.slots)
    }
}

impl Slots {
    fn new(paths: &ContactPaths, place: &[usize], has_limit: &[bool], n_shared: usize, factor: &Pattern) -> Self {
        let mut dofs: Vec<usize> = paths.a.iter().chain(&paths.b).map(|&(_, dof)| place[dof]).collect();
        dofs.sort_unstable();
        dofs.dedup();
        let slot = |dof: usize| dofs.partition_point(|&other| other < place[dof]);
        let side = |path: &[(usize, usize)], b: bool| -> Vec<_> {
            path.iter().map(|&(screw, dof)| (screw, slot(dof), b)).collect()
        };
        let mut columns = side(&paths.a, false);
        columns.extend(side(&paths.b, true));
        columns.sort_by_key(|&(_, slot, _)| slot);
        let pairs = dofs.iter().enumerate().flat_map(|(a, &i)| dofs[..=a].iter().map(move |&j| (i, j)));
        let entries = pairs.map(|(i, j)| factor.at(i, j)).collect();
        let limited = dofs.iter().any(|&dof| has_limit[dof]);
        let n_shared = dofs.partition_point(|&dof| dof < n_shared);
        let dense = (0..n_shared).all(|i| dofs[i] == i) && factor.is_dense(n_shared);
        let n_leading = if dense { n_shared } else { 0 };
        let private = dofs.get(n_shared).map_or(0..0, |&dof| dof..dof + dofs.len() - n_shared);
        Self { n_shared, n_leading, private, limited, dofs, columns, entries }
    }
}

/// The degrees of freedom that are private, those of one contact next to each other.
fn private(nv: usize, graph_p: &Graph, contacts: &[ContactPaths]) -> Vec<usize> {
    let mut seen_by = vec![Vec::new(); nv];
    for (i, paths) in contacts.iter().enumerate() {
        for &(_, dof) in paths.a.iter().chain(&paths.b) {
            if seen_by[dof].last() != Some(&i) {
                seen_by[dof].push(i);
            }
        }
    }
    let mut private: Vec<_> = (0..nv).filter(|&dof| seen_by[dof].len() <= 1 && graph_p.degree(dof) == 0).collect();
    private.sort_by_key(|&dof| seen_by[dof].first());
    private
}

/// The patterns of the factors of P alone and of H.
pub fn factors(structure: &Structure) -> [&Pattern; 2] {
    [&structure.factor_p, &structure.factor_h]
}
