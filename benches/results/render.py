#!/usr/bin/env python3
"""Writes the tables of results into the pages that show them, or checks that they are there.

    python3 benches/results/render.py [--check]

A file `benches/results/NAME.csv` answers one question. Its first columns say how a figure was measured (`date`, `commit`,
`machine`, `with`: other programs' versions and what else matters, `command`); the others are the columns of a table. A run
appends rows. A commit with `~` is the one that brought a figure, where nobody wrote down which version was measured. A page shows a file between two comments:

    <!-- results NAME key=task,seed where=law=coulomb hide=each -->
    <!-- end of results -->

The table has the latest row for each value of the `key` columns (the first column of the table unless they are given), of those
that `where` picks (several are joined by `&`; `!=` leaves out), without the columns of `hide`. In these, `_` is a space and `;` a
comma. Runs that differ in their days alone are one, and what all runs of a table have in common is said once.
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


def options(text: str, columns: list[str], name: str) -> tuple[list[str], dict[str, str], dict[str, str], list[str]]:
    """The key, what rows have to have and what they may not, and the hidden columns that a comment asks for."""
    key, where, but, hide = [columns[0]], {}, {}, []
    names = lambda value: [part.replace(";", ",").replace("_", " ") for part in value.split(",")]
    for word in text.split():
        option, _, value = word.partition("=")
        if option == "key":
            key = names(value)
        elif option == "hide":
            hide = names(value)
        elif option == "where":
            pairs = (pair.partition("=") for pair in value.split("&"))
            for column, _, wanted in pairs:
                (but if column.endswith("!") else where)[names(column.rstrip("!"))[0]] = names(wanted)[0]
        else:
            raise Wrong(f"results {name}: expected key=, where= or hide=, got {word}")
    for column in [*key, *where, *but, *hide]:
        if column not in columns:
            raise Wrong(f"results {name}: expected one of the columns {', '.join(columns)}, got {column}")
    return key, where, but, hide


def how(row: dict[str, str]) -> tuple[str, ...]:
    """How a row was measured, but its day: the command, the machine, and what else there was, each by itself."""
    commit = row["commit"] and not row["commit"].startswith("~") and f"fingertip {row['commit']}"
    return (row["command"], *(part for part in (row["machine"], *row["with"].split(", "), commit) if part))


def said(days: list[str], command: str, others: list[str]) -> str:
    """A run in words."""
    text = ", ".join([*([" and ".join(days)] if days else []), *others])
    return ": ".join(part for part in (text, command and f"`{command}`") if part)


def runs(ways: dict[tuple[str, ...], list[str]]) -> list[str]:
    """The runs behind a table, numbered if there are several, after a line with what all of them have in common."""
    if len(ways) == 1:
        return [said(days, command, others) for (command, *others), days in ways.items()]
    first = next(iter(ways))
    same = {part for part in first if all(part in way for way in ways)}
    left = lambda way: ("" if way[0] in same else way[0], [part for part in way[1:] if part not in same])
    lines = [f"All: {said([], first[0] if first[0] in same else '', [part for part in first[1:] if part in same])}", ""] if same else []
    return [*lines, *(f"{number}. {said(days, *left(way))}" for number, (way, days) in enumerate(ways.items(), 1))]


def table(name: str, text: str) -> str:
    """The table that a comment asks for, and how its figures were measured."""
    columns, rows = read(name)
    key, where, but, hide = options(text, columns, name)
    picks = lambda row: all(row[c] == wanted for c, wanted in where.items()) and all(row[c] != wanted for c, wanted in but.items())
    rows = latest([row for row in rows if picks(row)], key)
    if not rows:
        raise Wrong(f"results {name}: expected rows where {where} and not {but}, there are none")
    shown = [column for column in columns if column not in hide and column not in where]
    ways: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        days = ways.setdefault(how(row), [])
        if row["date"] not in days:
            days.append(row["date"])
    marks = {way: f"{number}" for number, way in enumerate(ways, 1)}
    lines = []
    for row in rows:
        cells = [row[column] for column in shown]
        if len(ways) > 1:
            cells.append(marks[how(row)])
        lines.append(cells)
    header = [*shown, "run"] if len(ways) > 1 else shown
    right = ["--:" if all(NUMBER.fullmatch(line[i]) for line in lines) else "---" for i in range(len(header))]
    form = lambda cells: "| " + " | ".join(cells) + " |"

    def fill(text: str) -> str:
        indent = "   " if re.match(r"\d+\. ", text) else ""
        return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)

    return "\n".join(["", form(header), "|" + "|".join(right) + "|", *map(form, lines), "", *map(fill, runs(ways)), "", ""])


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
