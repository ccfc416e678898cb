"""Keys of a task's file, written in Python."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._fingertip import Error, Model
from ._scene import Scene, _lines, _value


def text(scene: Scene | str | os.PathLike[str], folder: Any, keys: Mapping[str, Any] | None) -> str:
    """The text (TOML) of a task."""
    if isinstance(scene, Scene):
        of: Any = (scene if folder is not None else scene._with_own_files())._keys
    elif isinstance(scene, str | os.PathLike):
        of = os.fspath(scene)
        if isinstance(scene, str) and not Path(scene).suffix and Path(scene).name == scene:
            if scene not in Model.names():
                Model.load(scene)  # raises
            of = f"{scene}.toml"
    else:
        raise Error(f"scene: expected a Scene, a scene's file or its name, got {type(scene).__name__}")
    return _lines({"scene": of, **(keys or {})})


def paths(keys: Mapping[str, Any], within: str = "") -> list[tuple[str, str | None]]:
    """Keys by their paths in a task's file, `"weights.reach"`, with their values as those of a key `value`; None is none."""
    found: list[tuple[str, str | None]] = []
    for key, value in keys.items():
        path = f"{within}{key}"
        # A path has a dot between names alone: a table of names with dots is replaced as it is.
        if isinstance(value, Mapping) and not any("." in name for name in value):
            found += paths(value, f"{path}.")
        else:
            given = value._keys if isinstance(value, Scene) else value
            found.append((path, None if given is None else f"value = {_value(path, given)}"))
    return found


def without_lines(message: str) -> str:
    """The message of an error in a text that nobody has written."""
    return re.sub(r"line \d+(, column \d+)?: ", "", message)
