#!/usr/bin/env python3
"""Writes the tables of results into the pages that show them, or checks that they are there.

    python3 benches/results/render.py [--check]

A file `benches/results/NAME.csv` answers one question. Its first columns say how a figure was measured (`date`, `commit`,
`machine`, `with`: other programs' versions and what else matters, `command`); the others are the columns of a table. A run
appends rows. A commit with `~` is the one that brought a figure, where nobody wrote down which version was measured. A page shows a file between two comments:

    <!-- results NAME key=task,seed where=law=coulomb hide=each -->
    <!-- end of results -->

The table has the latest row for each value of the `key` columns (the first column of the table unless they are given), of those
that `where` picks (several are joined by `&`), without the columns of `hide`. In these, `_` is a space and `;` a comma.
"""

import csv
import datetime
import re
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MEASURED = ["date", "commit", "machine", "with", "command"]
BLOCK = re.compile(r"(<!-- results (\S+)(.*?) -->\n)(.*?)(<!-- end of results -->)", re.DOTALL)
NUMBER = re.compile(r"[-–+<>]?[\d.,·⁰¹²³⁴⁵⁶⁷⁸⁹⁻ ()/±%e–]*")


class Wrong(Exception):
    """What is wrong with a file or a page, and where."""


def read(name: str) -> tuple[list[str], list[dict[str, str]]]:
    """The columns of the table of a file, and its rows."""
    path = HERE / f"{name}.csv"
    if not path.exists():
        raise Wrong(f"expected a file {path.relative_to(ROOT)}, there is none")
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    header = lines[0] if lines else []
    if header[: len(MEASURED)] != MEASURED or len(header) == len(MEASURED):
        raise Wrong(f"{path.name}: expected the columns {','.join(MEASURED)} and at least one more, got {','.join(header)}")
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(header):
            raise Wrong(f"{path.name}, row {number}: expected {len(header)} cells, got {len(line)}")
        try:
            datetime.date.fromisoformat(line[0])
        except ValueError:
            raise Wrong(f"{path.name}, row {number}: expected a date as 2026-11-29, got {line[0]!r}") from None
    return header[len(MEASURED) :], [dict(zip(header, line)) for line in lines[1:]]


def append(name: str, rows: list[dict[str, str]]) -> None:
    """Adds the rows of a run to a file, and writes the pages."""
    columns, _ = read(name)
    with (HERE / f"{name}.csv").open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*MEASURED, *columns], lineterminator="\n")
        writer.writerows(rows)
    write(check=False)


def latest(rows: list[dict[str, str]], key: list[str]) -> list[dict[str, str]]:
    """The latest row for each value of the key, the later in the file of two of a day, in the order in which values first appear."""
    found: dict[tuple, dict[str, str]] = {}
    for row in rows:
        value = tuple(row[column] for column in key)
        if value not in found or row["date"] >= found[value]["date"]:
            found[value] = row
    return list(found.values())


def options(text: str, columns: list[str], name: str) -> tuple[list[str], dict[str, str], list[str]]:
    """The key, the filter and the hidden columns that a comment asks for."""
    key, where, hide = [columns[0]], {}, []
    names = lambda value: [part.replace(";", ",").replace("_", " ") for part in value.split(",")]
    for word in text.split():
        option, _, value = word.partition("=")
        if option == "key":
            key = names(value)
        elif option == "hide":
            hide = names(value)
        elif option == "where":
            pairs = (pair.partition("=") for pair in value.split("&"))
            where = {names(column)[0]: names(wanted)[0] for column, _, wanted in pairs}
        else:
            raise Wrong(f"results {name}: expected key=, where= or hide=, got {word}")
    for column in [*key, *where, *hide]:
        if column not in columns:
            raise Wrong(f"results {name}: expected one of the columns {', '.join(columns)}, got {column}")
    return key, where, hide


def how(row: dict[str, str]) -> str:
    """How a row was measured, without its command, and without a version that only brought the figure."""
    commit = row["commit"] and not row["commit"].startswith("~") and f"fingertip {row['commit']}"
    return ", ".join(part for part in (row["date"], row["machine"], row["with"], commit) if part)


def table(name: str, text: str) -> str:
    """The table that a comment asks for, and how its figures were measured."""
    columns, rows = read(name)
    key, where, hide = options(text, columns, name)
    rows = latest([row for row in rows if all(row[column] == wanted for column, wanted in where.items())], key)
    if not rows:
        raise Wrong(f"results {name}: expected rows where {where}, there are none")
    shown = [column for column in columns if column not in hide and column not in where]
    ways = list(dict.fromkeys((how(row), row["command"]) for row in rows))
    marks = {way: f"{number}" for number, way in enumerate(ways, 1)}
    lines = []
    for row in rows:
        cells = [row[column] for column in shown]
        if len(ways) > 1:
            cells.append(marks[how(row), row["command"]])
        lines.append(cells)
    header = [*shown, "run"] if len(ways) > 1 else shown
    right = ["--:" if all(NUMBER.fullmatch(line[i]) for line in lines) else "---" for i in range(len(header))]
    form = lambda cells: "| " + " | ".join(cells) + " |"
    said = [way[0] + (f": `{way[1]}`" if way[1] else "") for way in ways]
    if len(ways) > 1:
        said = [f"{marks[way]}. {text}" for way, text in zip(ways, said)]
    fill = lambda text: textwrap.fill(text, 120, subsequent_indent="   " if len(ways) > 1 else "", break_long_words=False, break_on_hyphens=False)
    return "\n".join(["", form(header), "|" + "|".join(right) + "|", *map(form, lines), "", *map(fill, said), "", ""])


def pages() -> list[Path]:
    """All Markdown of the repository."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / line for line in listed.stdout.splitlines()]


def write(check: bool) -> list[str]:
    """Writes all pages, or says which are not as they would be written, and which files no page shows."""
    wrong, seen = [], set()
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if text.count("<!-- results ") != len(BLOCK.findall(text)):
            raise Wrong(f"{page.relative_to(ROOT)}: expected `<!-- end of results -->` after each `<!-- results … -->`")
        seen.update(match[1] for match in BLOCK.findall(text))
        made = BLOCK.sub(lambda match: match[1] + table(match[2], match[3]) + match[5], text)
        if made != text and check:
            wrong.append(f"{page.relative_to(ROOT)} is not what benches/results/render.py makes")
        elif made != text:
            page.write_text(made, encoding="utf-8")
    unseen = sorted(path.name for path in HERE.glob("*.csv") if path.stem not in seen)
    return [*wrong, *(f"benches/results/{name} is on no page" for name in unseen)]


def main() -> int:
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    try:
        wrong = write(check=sys.argv[1:] == ["--check"])
    except Wrong as error:
        wrong = [str(error)]
    print("\n".join(wrong), end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
