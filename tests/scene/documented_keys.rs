//! The tables of keys in the pages are those that files may have: each key that is read is in its table, and no other.

use std::collections::BTreeSet;
use std::fs;

use fingertip::description::Scene;
use fingertip::mpc::Task;

/// The keys that a message expects in place of `nonsense`, as the parser lists them.
fn read(message: &str) -> BTreeSet<String> {
    let line = message.lines().find_map(|line| line.split_once("unknown field `nonsense`, expected"));
    let (_, expected) = line.unwrap_or_else(|| panic!("expected a message of an unknown field, got {message}"));
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The keys in the first cells of the table below each of these headings.
fn documented(page: &str, headings: &[&str]) -> BTreeSet<String> {
    let rows = headings.iter().flat_map(|heading| {
        let title = format!("\n## {heading}\n");
        let (_, below) =
            page.split_once(&title).unwrap_or_else(|| panic!("expected a heading {heading}, there is none"));
        below.split("\n#").next().unwrap_or_default().lines().filter(|line| line.starts_with("| "))
    });
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn compare(file: &str, page: &str, cases: &[(&str, &[&str])], message: impl Fn(&str) -> String) {
    for (text, headings) in cases {
        assert_eq!(documented(page, headings), read(&message(text)), "{file}, {headings:?}");
    }
}

#[test]
fn of_scenes() {
    let page = fs::read_to_string("docs/scenes.md").unwrap();
    let in_object = |entry: &str| format!("[[object]]\n{entry}");
    let entries = [
        ("collision = [{ nonsense = 1 }]", &["An entry of `collision`", "A shape"][..]),
        ("decompose = { nonsense = 1 }", &["`decompose`"]),
        ("grid = { nonsense = 1 }", &["`grid`"]),
        ("sites = [{ nonsense = 1 }]", &["An entry of `sites`"]),
        ("spring = { hinge = { nonsense = 1 } }", &["A joint's `spring`"]),
        ("connections = [{ nonsense = 1 }]", &["An entry of `connections`"]),
        ("table = { nonsense = 1 }", &["`table`"]),
        ("nonsense = 1", &["`[[object]]`", "A shape"]),
    ];
    let message = |text: &str| Scene::from_toml(text, "").unwrap_err().to_string();
    compare("docs/scenes.md", &page, &entries, |text| message(&in_object(text)));
    let tables = [
        ("nonsense = 1", &["A scene"][..]),
        ("[params]\nnonsense = 1", &["`[params]`"]),
        ("[params]\nsolver = { nonsense = 1 }", &["`solver` of `[params]`"]),
        ("[[robot]]\nnonsense = 1", &["`[[robot]]`"]),
        ("[[robot]]\ntendons = [{ nonsense = 1 }]", &["An entry of `tendons`"]),
        ("[[robot]]\nmount = { nonsense = 1 }", &["`mount`"]),
        ("[[pair]]\nnonsense = 1", &["`[[pair]]`"]),
        ("[[script]]\nnonsense = 1", &["`[[script]]`"]),
        ("[[taxels]]\nnonsense = 1", &["`[[taxels]]`"]),
    ];
    compare("docs/scenes.md", &page, &tables, message);
}

#[test]
fn of_tasks() {
    let page = fs::read_to_string("crates/plan/docs/tasks.md").unwrap();
    let tables = [
        ("[command]", &["`[command]`"][..]),
        ("[start]", &["`[start]`"]),
        ("[start.objects.cube]", &["`[start.objects.NAME]`"]),
        ("[goal]", &["`[goal]`"]),
        ("[goal.others.lid]", &["`[goal.others.NAME]`"]),
        ("[weights]", &["`[weights]`"]),
        ("[weights.terminal]", &["`[weights.terminal]`"]),
        ("[reach]", &["`[reach]`"]),
        ("[[order]]", &["`[[order]]`"]),
        ("[[force]]", &["`[[force]]`"]),
        ("[sampling]", &["`[sampling]`"]),
        ("[robust]", &["`[robust]`"]),
        ("[[robust.worlds]]", &["A world of `[robust]`"]),
        ("[success]", &["`[success]`"]),
        ("[sequence]", &["`[sequence]`"]),
        ("[supervisor]", &["`[supervisor]`"]),
    ];
    let message = |text: &str| Task::from_toml(text, "").unwrap_err().to_string();
    compare("tasks.md", &page, &tables, |table| message(&format!("{table}\nnonsense = 1")));
    // Of the task itself the tables are keys as well.
    let own: BTreeSet<String> = documented(&page, &["A task"]);
    let heads = tables.iter().map(|(table, _)| table.trim_matches(['[', ']']).split('.').next().unwrap().to_owned());
    assert_eq!(
        own.into_iter().chain(heads).collect::<BTreeSet<_>>(),
        read(&message("nonsense = 1")),
        "tasks.md, a task"
    );
}
