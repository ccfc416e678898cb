"""What a step of a hand costs with its own collision meshes: ours beside MuJoCo's, in one run.

    python3 benches/peers/hands.py --binary target/release/fingertip right_hand.xml hand.urdf

It needs a Python with the `mujoco` of requirements.txt. Any MJCF or URDF will do, one's own too. All pairs that the file
lets touch are on, a free cube floats 30 cm above (or as far aside as it must not to overlap), and nothing has weight.
`--gap 0.005` lets the cube down until it is that near. Ours is a step of 10 ms of `fingertip rollout`, MuJoCo's are five
of 2 ms. Both run on one thread, and what counts is user time. `--distance` gives a `contact_distance`, which a first
scene has not, and `--hull-vertices` makes our hulls smaller.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import mujoco

HALF, HEIGHT = 0.02, 0.3  # of the cube, m
ASIDE = [0.0, 0.25, 0.5, 1.0]  # where along x it may be, m
DOWN = 0.05  # m that it is let down at once, at most
LEAST = 0.5  # s that a measurement takes at least


def packages(text: str, file: Path) -> str:
    """The text of a URDF with paths in place of `package://` names: those in the nearest folder above that has the file."""

    def path(found: re.Match) -> str:
        rest = found[1]
        return next((str(folder / rest) for folder in file.resolve().parents if (folder / rest).exists()), rest)

    return re.sub(r"package://[^/]+/([^\"]+)", path, text)


def theirs(file: Path, at: tuple[float, float, float]) -> float:
    """MuJoCo's user time for 10 ms, µs."""
    if file.suffix == ".urdf":
        compiler = '<mujoco><compiler strippath="false" discardvisual="true" balanceinertia="true" boundmass="1e-4" boundinertia="1e-7"/></mujoco>'
        text = re.sub(r"<visual.*?</visual>|<mujoco>.*?</mujoco>", "", file.read_text(), flags=re.S)
        spec = mujoco.MjSpec.from_string(re.sub(r"(<robot[^>]*>)", r"\1" + compiler, packages(text, file), count=1))
    else:
        spec = mujoco.MjSpec.from_file(str(file))
    body = spec.worldbody.add_body(name="a cube beside", pos=at)
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[HALF] * 3, mass=0.05)
    model = spec.compile()
    model.opt.gravity[:], model.opt.timestep = 0.0, 0.002
    if file.suffix == ".urdf":
        model.dof_damping[:], model.dof_armature[:] = 0.05, 1e-3
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 50)
    start, steps = time.process_time(), 0
    while time.process_time() - start < 2 * LEAST:
        mujoco.mj_step(model, data, 10)
        steps += 10
    return 5e6 * (time.process_time() - start) / steps


def scene(file: Path, distance: float | None, vertices: int | None, at: tuple[float, float, float]) -> str:
    """Our scene of a hand and a cube."""
    kind, more = ("urdf", "stiffness = 5.0\n") if file.suffix == ".urdf" else ("mjcf", "")
    more += f"hull_vertices = {vertices}\n" if vertices else ""
    reach = "" if distance is None else f"contact_distance = {distance}, "
    return (
        f'params = {{ {reach}gravity = [0, 0, 0] }}\n[[robot]]\nname = "hand"\n{kind} = "{file.resolve()}"\n{more}'
        f'[[object]]\nname = "cube"\nbox = [{HALF}, {HALF}, {HALF}]\nmass = 0.05\nfreedom = "free"\nposition = {list(at)}\n'
    )


def ours(binary: Path, args: argparse.Namespace, file: Path, folder: Path) -> tuple[float, tuple[float, float, float]]:
    """Our user time for a step of 10 ms, µs, and where the cube is, m."""
    place = folder / "scene.toml"

    def gap(at: tuple[float, float, float]) -> float:
        place.write_text(scene(file, args.distance, args.hull_vertices, at))
        found = subprocess.run([binary, "inspect", place, "--json"], capture_output=True, text=True, check=True)
        pairs = json.loads(found.stdout)["pairs"]
        return min((pair["gap"] for pair in pairs if "cube" in (pair["a"]["body"], pair["b"]["body"])), default=float("inf"))

    at = next((at for aside in ASIDE if gap(at := (aside, 0.0, HEIGHT)) > 0.0), None)
    if at is None:
        raise SystemExit(f"{file}: expected room for a cube {HEIGHT} m above, found none")
    while args.gap is not None and (left := gap(at) - args.gap) > 1e-5:
        at = (at[0], at[1], at[2] - min(left, DOWN))
        if at[2] < -HEIGHT:
            raise SystemExit(f"{file}: expected something below a cube at x = {at[0]} m, found nothing")

    def user(steps: int) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = [binary, "rollout", place, "-n", str(steps)]
        ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"RAYON_NUM_THREADS": "1"})
        if ran.returncode != 0:
            raise SystemExit(f"{file}: {ran.stderr.strip()}")
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    loading, steps = min(user(1) for _ in range(3)), 41
    while (taken := user(steps) - loading) < LEAST and steps < 20_000:
        steps *= 4
    return 1e6 * taken / (steps - 1), at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=Path("target/release/fingertip"))
    parser.add_argument("--gap", type=float, help="of the cube and the hand, m")
    parser.add_argument("--distance", type=float, help="contact_distance, m")
    parser.add_argument("--hull-vertices", type=int, help="the most vertices of a hull, ours alone")
    parser.add_argument("hands", nargs="+", type=Path, metavar="HAND")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for hand in args.hands:
            mine, at = ours(args.binary.resolve(), args, hand, Path(folder))
            other = theirs(hand, at)
            print(f"{hand.stem}: ours {mine:.0f} µs, MuJoCo {mujoco.__version__} {other:.0f} µs for 10 ms: {mine / other:.2f}", flush=True)


if __name__ == "__main__":
    main()
