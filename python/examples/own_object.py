"""A public hand turns a thing of one's own by 45°, from a mesh file to a success.

python python/examples/own_object.py [MESH]

The hand is LEAP's 16-joint hand, from its URDF. Without a mesh (OBJ or STL, in metres, as the hull of which it touches; about 7 cm) it is a
hexagonal prism, whose file is written here. What a hand and a thing of one's own need is the scene, the tips that are to reach the thing,
and how far from its middle they are to be; all else is as the shipped tasks of such hands have it.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import fingertip as ft

ROOT = Path(__file__).resolve().parents[2]
FINGERS = ["if", "mf", "rf"]


def prism(path: Path, radius: float = 0.036, half: float = 0.03) -> Path:
    """Writes a hexagonal prism that stands on its end."""
    ring = np.arange(6) * np.pi / 3
    corners = [(radius * np.cos(a), radius * np.sin(a), z) for z in (-half, half) for a in ring]
    sides = [(k, (k + 1) % 6, 6 + (k + 1) % 6, 6 + k) for k in range(6)]
    faces = [(5, 4, 3, 2, 1, 0), (6, 7, 8, 9, 10, 11), *sides]
    lines = ["v {} {} {}".format(*corner) for corner in corners]
    lines += ["f " + " ".join(str(1 + k) for k in face) for face in faces]
    path.write_text("\n".join(lines) + "\n")
    return path


def turned(mesh: Path) -> list[ft.mpc.Run]:
    """The hand turns what is in the file, on the planner's own step with harder contacts and on one where it has momentum."""
    home = {f"{finger}_{joint}": 0.8 for finger in FINGERS for joint in ("mcp", "pip", "dip")}
    home |= {f"th_{joint}": 0.8 for joint in ("cmc", "axl", "mcp")}
    scene = ft.Scene(kappa=1e6, contact_distance=0.005)
    scene.robot("hand", urdf=ROOT / "assets/robots/leap16.urdf", stiffness=3.0, home=home).pair("hand", "hand", enabled=False)
    scene.object("part", mesh=mesh, mass=0.1, freedom="free", position=[0.1, 0.0, 0.035])
    task = ft.Task(
        scene,
        h=0.02,
        hold=5,
        horizon=8,
        kappa=3e4,
        epsilon=1.0,
        command={"type": "relative", "bound": 0.1},
        goal={"object": "part", "position": [0.11, 0.0, 0.03], "rpy": [0.0, 0.0, np.pi / 4]},
        weights={"position": 100.0, "rotation": 1.0, "reach": 10.0, "closure": 0.1, "command": 0.1}
        | {"terminal": {"position": 1000.0, "rotation": 10.0}},
        reach={"points": [f"hand/{finger}_ds" for finger in [*FINGERS, "th"]], "distance": 0.06},
        success={"rotation": 0.1},
        cap=200,
    )
    return [ft.mpc.run(task, ft.mpc.Plant(task, kind=kind)) for kind in ("quasi-dynamic", "second-order")]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for run in turned(Path(sys.argv[1]).resolve() if sys.argv[1:] else prism(Path(folder) / "prism.obj")):
            print(run)
