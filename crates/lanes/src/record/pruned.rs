//! Dead code elimination: keeps the parts of a tape that the results depend on.

use std::collections::BTreeMap;

use super::op::{Id, Node};
use super::tape::Tape;
use super::trace::{Item, Kind, Output, Region, Row, Trace, Variable};

/// Turns a tape into a trace, without the operations, variables and regions that no output needs.
pub(super) fn pruned(tape: Tape, results: Vec<Row>, outputs: Vec<Id>) -> Trace {
    let Tape { nodes, stages, stage_of, mut regions, operands, of_step, .. } = tape;
    let live = live(&nodes, &regions, &outputs);
    for region in (0..regions.len()).rev() {
        let Region { mut items, mut variables, kind } = regions[region].clone();
        variables.retain(|variable| live[variable.id as usize]);
        items.retain(|item| match *item {
            Item::Node(id) => live[id as usize],
            // A region has a higher index than the region that contains it, so `inner` is pruned already.
            Item::Region(inner) => {
                let Region { kind, items, variables } = &regions[inner];
                !variables.is_empty()
                    || (matches!(kind, Kind::Time { .. }) && items.iter().any(|item| !matches!(item, Item::Part)))
            }
            Item::LeaveUnless(_) | Item::Part => true,
        });
        regions[region] = Region { kind, items, variables };
    }
    let places = results.iter().enumerate().flat_map(|(row, of)| (0..of.width).map(move |place| (row, place)));
    let of_step = of_step.into_iter().chain(std::iter::repeat(false));
    let outputs = outputs.into_iter().zip(places).zip(of_step);
    let outputs = outputs.map(|((id, (row, place)), of_step)| Output { id, row, place, of_step }).collect();
    Trace { nodes, stages, stage_of, regions, operands, results, outputs }
}

/// Marks the nodes that the outputs depend on, through arguments, variables and the conditions of branches and loops.
fn live(nodes: &[Node], regions: &[Region], outputs: &[Id]) -> Vec<bool> {
    let mut parent = vec![0; regions.len()];
    let mut variable_of = BTreeMap::new();
    let mut leaves = vec![None; regions.len()];
    let mut home = vec![0; nodes.len()];
    for (region, Region { items, variables, .. }) in regions.iter().enumerate() {
        variables.iter().for_each(|variable| {
            variable_of.insert(variable.id, (*variable, region));
        });
        for item in items {
            match *item {
                Item::Node(id) => home[id as usize] = region,
                Item::Region(inner) => parent[inner] = region,
                Item::LeaveUnless(go) => leaves[region] = Some(go),
                Item::Part => {}
            }
        }
    }
    let mut live = vec![false; nodes.len()];
    let mut is_needed = vec![false; regions.len()];
    let mut next: Vec<Id> = outputs.to_vec();
    while let Some(id) = next.pop() {
        if std::mem::replace(&mut live[id as usize], true) {
            continue;
        }
        next.extend(nodes[id as usize].arguments());
        let mut region = home[id as usize];
        if let Some(&(Variable { start, exit, end, .. }, of)) = variable_of.get(&id) {
            next.extend([start, exit, end]);
            region = of;
        }
        while region != 0 && !std::mem::replace(&mut is_needed[region], true) {
            if let Kind::Branch { mask } = regions[region].kind {
                next.push(mask);
            }
            next.extend(leaves[region]);
            region = parent[region];
        }
    }
    live
}
