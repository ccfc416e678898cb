"""Makes assets/gallery: every task that ships, and every scene that no task has, as a moving picture, and docs/gallery.md, which shows
them with their commands.

    python3 assets/gallery.py target/release/fingertip [NAME …]

With names, only these are made anew. Needs the package pillow, and chromium with chromedriver.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import animation

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "assets" / "gallery"
SIZE = (320, 240)
# A picture takes 2.5 to 3 s: what is shorter is shown slower, what is longer faster.
LOOK = {"size": SIZE, "rate": 8, "seconds": lambda length: min(max(length, 2.5), 3.0), "quality": 55, "fineness": 1.5}
STEPS = 100
# Tasks that the planner does by a roadmap alone.
FAR = ["planar_push_around"]
GENERATED = ["cubes", "pills"]


def titles() -> dict[str, str]:
    """Tasks of single goals, which can be recorded, and what they are about."""
    texts = {file.stem: file.read_text(encoding="utf-8") for file in sorted((ROOT / "assets" / "tasks").glob("*.toml"))}
    found = {name: re.search(r'^title = "(.*)"', text, re.MULTILINE) for name, text in texts.items() if "[sequence]" not in text}
    return {name: title[1] if title else name for name, title in found.items()}


def scenes() -> list[str]:
    """Scenes without a task of their own."""
    tasks = [file.read_text(encoding="utf-8") for file in (ROOT / "assets" / "tasks").glob("*.toml")]
    taken = {name for text in tasks for name in re.findall(r'^scene = ".*?([^/"]+)\.toml"', text, re.MULTILINE)}
    return [file.stem for file in sorted((ROOT / "assets" / "scenes").glob("*.toml")) if file.stem not in taken] + GENERATED


def commands(name: str, tasks: dict[str, str]) -> list[list[str]]:
    """What runs a task or a scene: what has to be made before, and the run."""
    if name not in tasks:
        return [["rollout", name, "-n", str(STEPS)]]
    run = ["mpc", name, "--episodes", "1"]
    return [["plan", name, "--joints", "--minutes", "1"], [*run, "--roadmap", f"out/{name}.roadmap.json"]] if name in FAR else [run]


def page(tasks: dict[str, str], others: list[str]) -> str:
    """docs/gallery.md."""
    lines = ["# Gallery", "", "What ships, as it runs. `fingertip view NAME` shows a scene live, `fingertip view --task NAME` a task. Tasks that go"]
    lines += ["from goal to goal (`allegro_cube_sequence` and others) have no recordings: `fingertip view --task` shows them.", ""]
    for heading, names in (("Tasks", list(tasks)), ("Scenes", others)):
        lines += [f"## {heading}", "", "| | |", "|---|---|"]
        for name in names:
            runs = "<br>".join(f"`{' '.join(['fingertip', *run])}`" for run in commands(name, tasks))
            lines.append(f"| ![{name}](../assets/gallery/{name}.webp) | **{tasks.get(name, name)}**<br>{runs} |")
        lines.append("")
    return "\n".join(lines)


def main(program: str, *names: str) -> None:
    binary = Path(program).resolve()
    tasks, others = titles(), scenes()
    PICTURES.mkdir(exist_ok=True)
    wanted = names or [*tasks, *others]
    with tempfile.TemporaryDirectory() as folder, animation.browser(*SIZE) as session:
        recording, html = f"{folder}/run.mcap", f"{folder}/run.html"
        for name in wanted:
            *before, run = commands(name, tasks)
            # A task that does not succeed has a picture, too.
            for arguments in (*before, [*run, "--record", recording]):
                subprocess.run([binary, *arguments], cwd=folder, check=False, stdout=subprocess.DEVNULL)
            subprocess.run([binary, "view", recording, "--html", html], check=True, stdout=subprocess.DEVNULL)
            animation.film(session, html, PICTURES / f"{name}.webp", **LOOK)
    (ROOT / "docs" / "gallery.md").write_text(page(tasks, others), encoding="utf-8")
    print(f"{sum(file.stat().st_size for file in PICTURES.glob('*.webp')) / 1e6:.1f} MB in all")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
