"""A scene written in Python."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ._fingertip import Error, Model, _thing

_Self = TypeVar("_Self", bound="Scene")


class Scene:
    """A scene written in Python in place of TOML: robots, objects, and which of them touch. Keys are those of a scene's file
    (docs/scenes.md of the repository), their values numbers, strings, lists, arrays and dictionaries, and `params` those of its
    section `[params]`. Each call adds a thing and gives the scene, so that calls may follow one another.

    >>> scene = Scene(kappa=1e5).object("ball", sphere=0.03, mass=0.1, freedom="free", position=[0, 0, 0.1])
    >>> scene.object("ground", halfspace=[0, 0, 1, 0]).model().nq
    7
    """

    def __init__(self, **params: Any) -> None:
        self._params = params
        self._things: list[tuple[str, dict[str, Any]]] = []

    def robot(self: _Self, name: str, **keys: Any) -> _Self:
        """Adds a robot: of a `urdf` or an `mjcf`, with `stiffness` (N·m/rad or N/m), `home` (rad or m), and so on."""
        return self._with("robot", {"name": name, **keys})

    def object(self: _Self, name: str, **keys: Any) -> _Self:
        """Adds an object: a shape in m (`sphere`, `box`, `mesh`, …), `mass` in kg, `freedom`, `position` in m, and so on."""
        return self._with("object", {"name": name, **keys})

    def pair(self: _Self, a: str, b: str, **keys: Any) -> _Self:
        """Adds a rule for two things or bodies: their friction `mu` and `torsion` (m), or `enabled=False`; later rules win."""
        return self._with("pair", {"a": a, "b": b, **keys})

    def keyframe(self: _Self, time: float, u: Mapping[str, float]) -> _Self:
        """Adds commands by the joints' names (`"hand/thumb1"`; rad or m) at a time (s) to the script that `Model.control` follows."""
        return self._with("script", {"time": time, "u": u})

    def taxels(self: _Self, name: str, link: str, **keys: Any) -> _Self:
        """Adds a pad of taxels to a link: `at`, `rpy`, `rows`, `columns` and `size` (m) of a grid, or a `file` and its `reach` (m)."""
        return self._with("taxels", {"name": name, "link": link, **keys})

    @property
    def text(self) -> str:
        """The scene in TOML, as `Model.from_toml` and files have it."""
        parts = [f"[params]\n{_lines(self._params)}"] if self._params else []
        parts += [f"[[{kind}]]\n{_lines(keys)}" for kind, keys in self._things]
        return "\n".join(parts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the scene to a file, for tasks and the command line. Files that it names are relative to that file's folder."""
        Path(path).write_text(self.text, encoding="utf-8")

    def model(self, folder: str | os.PathLike[str] | None = None) -> Model:
        """The scene compiled: `Model.from_toml(scene.text, folder)`. Files that it names are relative to `folder`, or to where the
        program runs; without one, robots that come with the package are found too, as `"../robots/leap16.urdf"`, and meshes of one's
        own beside them."""
        text = (self if folder is not None else self._with_own_files()).text
        try:
            return Model.from_toml(text, folder)
        except Error as error:
            # Lines of a text that nobody has written: the thing that they are of says more.
            raise Error(re.sub(r"line \d+, column \d+", lambda place: _thing(text, place[0]), str(error))) from None

    @property
    def _keys(self) -> dict[str, Any]:
        """The scene as a table of its keys, as a task has it in itself."""
        kinds: dict[str, list[dict[str, Any]]] = {}
        for kind, keys in self._things:
            kinds.setdefault(kind, []).append(keys)
        return {"params": self._params, **kinds} if self._params else {**kinds}

    def _with_own_files(self) -> Scene:
        """The scene with the whole paths of files that are there where the program runs, beside which others may come with the package."""
        made = Scene(**self._params)
        made._things = [(kind, _found(keys)) for kind, keys in self._things]
        return made

    def __repr__(self) -> str:
        named = [f'{kind} "{keys["name"]}"' for kind, keys in self._things if "name" in keys]
        kinds = [kind for kind, keys in self._things if "name" not in keys]
        counted = [f"{kinds.count(kind)} of [[{kind}]]" for kind in dict.fromkeys(kinds)]
        return f"<fingertip.Scene: {', '.join([*named, *counted]) or 'empty'}>"

    def _with(self: _Self, kind: str, keys: dict[str, Any]) -> _Self:
        # What cannot be written is said where it is given.
        _lines(keys)
        self._things.append((kind, keys))
        return self


def _found(value: Any, key: str = "") -> Any:
    """Keys of a scene, in which what names a file that is there has its whole path."""
    if isinstance(value, Mapping):
        return {name: _found(item, name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_found(item) for item in value]
    if key in ("file", "mesh", "mjcf") and isinstance(value, (str, os.PathLike)) and Path(value).is_file():
        return os.fspath(Path(value).absolute())
    return value


def _lines(keys: Mapping[str, Any]) -> str:
    return "".join(f"{_key(key)} = {_value(key, value)}\n" for key, value in keys.items())


def _key(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _value(key: str, value: Any) -> str:
    """A value in TOML; `key` is for messages."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, os.PathLike):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, Mapping):
        inner = (f"{_key(name)} = {_value(f'{key}.{name}', item)}" for name, item in value.items())
        return f"{{ {', '.join(inner)} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(f'{key}[{k}]', item) for k, item in enumerate(value))}]"
    raise Error(f"{key}: expected a number, a string, a list, an array or a dictionary, got {value!r}")
