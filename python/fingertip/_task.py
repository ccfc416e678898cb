"""Keys of a task's file, written in Python."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._fingertip import Error, Goal, Model
from ._scene import Scene, _lines, _value


_WHERE = ("from", "file", "start", "position", "rpy", "quaternion", "rotation", "yaw", "axis", "lowest", "joints", "others")
"""The keys of a goal but for its object."""


def _of_goal(goal: Goal) -> dict[str, Any]:
    """The keys of a goal."""
    given = {name: getattr(goal, name) for name in ("position", "quaternion", "yaw", "axis", "joints")}
    given["others"] = {name: _of_goal(other) for name, other in goal.others.items()}
    return {name: value for name, value in given.items() if value not in (None, {})}


def text(scene: Scene | Model | str | os.PathLike[str], folder: Any, keys: Mapping[str, Any] | None) -> str:
    """The text (TOML) of a task."""
    if isinstance(scene, Scene):
        of: Any = (scene if folder is not None else scene._with_own_files())._keys
    elif isinstance(scene, str | os.PathLike):
        of = os.fspath(scene)
        if isinstance(scene, str) and not Path(scene).suffix and Path(scene).name == scene:
            if scene not in Model.names():
                Model.load(scene)  # raises
            of = f"{scene}.toml"
    elif isinstance(scene, Model):
        if not scene._is_as_read:
            raise Error(
                "scene: expected a model without overrides, and not another task's; a task has h, kappa and friction as keys, and others "
                "by replace(overrides=…)"
            )
        of = scene.text if scene.text.lstrip().startswith("<") else tomllib.loads(scene.text)
    else:
        raise Error(f"scene: expected a Scene, a Model, a scene's file or its name, got {type(scene).__name__}")
    given = {key: _of_goal(value) if isinstance(value, Goal) else value for key, value in (keys or {}).items()}
    return _lines({"scene": of, **given})


def paths(keys: Mapping[str, Any], within: str = "") -> list[tuple[str, str | None]]:
    """Keys by their paths in a task's file, `"weights.reach"`, with their values as those of a key `value`; None is none."""
    found: list[tuple[str, str | None]] = []
    for key, value in keys.items():
        path = f"{within}{key}"
        if isinstance(value, Goal):
            # All that says where, so that nothing is left of the goal before.
            value = dict.fromkeys(_WHERE) | _of_goal(value)
        # A path has a dot between names alone: a table of names with dots is replaced as it is.
        if isinstance(value, Mapping) and not any("." in name for name in value):
            found += paths(value, f"{path}.")
        else:
            given = value._with_own_files()._keys if isinstance(value, Scene) else value
            found.append((path, None if given is None else f"value = {_value(path, given)}"))
    return found


def without_lines(message: str) -> str:
    """The message of an error in a text that nobody has written."""
    return re.sub(r"(?m)^line \d+: ", "", message)
