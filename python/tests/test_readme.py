"""The programs in the READMEs run."""

import re

from conftest import ROOT


def run(path, monkeypatch, capsys):
    programs = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    assert len(programs) == 1
    monkeypatch.chdir(ROOT)
    exec(compile(programs[0], str(path), "exec"), {})
    return capsys.readouterr().out.splitlines()


def test_readme(monkeypatch, capsys):
    lines = run(ROOT / "python" / "README.md", monkeypatch, capsys)
    assert lines[0] == "(64, 24) (64, 6, 3) True" and lines[2] == "(64, 41, 24) (64, 40, 6, 3)"
    assert lines[3] == "(64, 24, 24) (64, 24, 21) (64, 18, 24) (64, 18, 21)"


def test_readme_of_the_repository(monkeypatch, capsys):
    lines = run(ROOT / "README.md", monkeypatch, capsys)
    assert lines[0].startswith("(24,) (21,) [[")
