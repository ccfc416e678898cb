"""The README's program runs."""

import re

from conftest import ROOT


def test_readme(monkeypatch, capsys):
    text = (ROOT / "python" / "README.md").read_text()
    programs = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(programs) == 1
    monkeypatch.chdir(ROOT)
    exec(compile(programs[0], "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "(64, 24) (64, 6, 3) True" and lines[2] == "(64, 41, 24) (64, 40, 6, 3)"
    assert lines[3] == "(64, 24, 24) (64, 24, 21) (64, 18, 24) (64, 18, 21)"
