"""A hand follows a human's keypoints: `fingertip follow` beside the optimiser of dex-retargeting on the same targets.

    python3 benches/peers/follow.py --binary target/release/fingertip
    python3 benches/peers/follow.py --binary target/release/fingertip --write assets/recorded/human_hand.csv

The motion is a made one: a right hand of 21 keypoints (bones of a grown-up, 25 joint angles) opens, curls its fingers one after the
other and all together, and closes its thumb on each of three fingertips, while its wrist moves and turns. Where the thumb meets a
finger is found by least squares over the hand's own joints. It needs numpy; beside, dex_retargeting (0.5.0), its pinocchio, nlopt and
torch, and the Allegro hand of assets/robots. `--write` writes the motion alone.
"""

import argparse
import csv
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
RATE = 30.0
FINGERS = ("thumb", "index", "middle", "ring", "little")
NAMES = ["wrist", *(f"thumb_{part}" for part in ("cmc", "mcp", "ip", "tip"))]
NAMES += [f"{finger}_{part}" for finger in FINGERS[1:] for part in ("mcp", "pip", "dip", "tip")]
# m: where fingers begin (forward, to the thumb's side, to the back of the hand), and their bones.
ROOTS = np.array([[0.025, 0.028, -0.012], [0.092, 0.024, 0.0], [0.095, 0.002, 0.0], [0.088, -0.018, 0.0], [0.080, -0.036, -0.003]])
BONES = np.array([[0.045, 0.034, 0.028], [0.044, 0.026, 0.022], [0.049, 0.030, 0.023], [0.045, 0.028, 0.023], [0.035, 0.020, 0.020]])
CLOSED = 0.012  # m between the keypoints of fingertips that touch


def turn(axis: np.ndarray, angle: float) -> np.ndarray:
    k = np.cross(np.eye(3), axis / np.linalg.norm(axis))
    return np.eye(3) - np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def keypoints(angles: np.ndarray) -> np.ndarray:
    """The 21 keypoints of angles (5, 4): spread, and three flexions of each finger."""
    points = [np.zeros(3)]
    for finger, (spread, *flexions) in enumerate(angles):
        # The thumb points forward and aside, and bends across the palm.
        base = turn(np.array([0, 0, 1.0]), 0.7 + spread) @ turn(np.array([1.0, 0, 0]), 0.3) if finger == 0 else turn(
            np.array([0, 0, 1.0]), spread
        )
        at, bent = ROOTS[finger], 0.0
        points.append(at)
        for bone, flexion in zip(BONES[finger], flexions):
            bent += flexion
            at = at + base @ (bone * np.array([np.cos(bent), 0.0, -np.sin(bent)]))
            points.append(at)
    return np.array(points)


def pinched(finger: int) -> np.ndarray:
    """Angles at which the thumb's tip is CLOSED from a finger's, near a relaxed hand, by damped least squares."""
    rest = np.zeros((5, 4))
    rest[1:, 1:] = [0.35, 0.35, 0.2]
    rest[0] = [-0.3, 0.2, 0.3, 0.2]
    free = [(0, k) for k in range(4)] + [(finger, k) for k in range(1, 4)]
    x = np.array([rest[i] for i in free])

    def residual(x):
        angles = rest.copy()
        for i, value in zip(free, x):
            angles[i] = value
        points = keypoints(angles)
        gap = points[4] - points[4 * finger + 4]
        return np.concatenate([[(np.linalg.norm(gap) - CLOSED) * 1e2], 0.003 * (x - [rest[i] for i in free])]), angles

    for _ in range(200):
        r, angles = residual(x)
        jacobian = np.array([(residual(x + 1e-6 * e)[0] - r) / 1e-6 for e in np.eye(len(x))]).T
        x = x - 0.3 * np.linalg.solve(jacobian.T @ jacobian + 1e-4 * np.eye(len(x)), jacobian.T @ r)
    return residual(x)[1]


def motion() -> np.ndarray:
    """Keypoints (n, 21, 3), m."""
    flat, fist = np.zeros((5, 4)), np.zeros((5, 4))
    flat[1:, 0] = [0.12, 0.0, -0.1, -0.2]
    fist[1:, 1:] = [1.2, 1.5, 0.9]
    fist[0] = [-0.5, 0.5, 0.6, 0.6]
    poses = [flat]
    for finger in range(1, 5):
        one = flat.copy()
        one[finger] = fist[finger]
        poses += [one, flat]
    half = 0.6 * fist + 0.4 * flat
    poses += [half, flat, pinched(1), flat, pinched(2), flat, pinched(3), flat]
    frames, each = [], 15
    for a, b in zip(poses, poses[1:]):
        for k in range(each):
            s = k / each
            frames.append(keypoints(a + (b - a) * s * s * (3 - 2 * s)))
    frames.append(keypoints(poses[-1]))
    moved = []
    for k, points in enumerate(frames):
        t = k / RATE
        wrist = turn(np.array([0, 0, 1.0]), 0.8 * np.sin(0.9 * t)) @ turn(np.array([0, 1.0, 0.2]), 0.5 * np.sin(0.5 * t))
        moved.append(points @ wrist.T + [0.1 * np.sin(0.7 * t), 0.05 * np.sin(1.1 * t), 0.4])
    return np.array(moved)


def write(path: Path, frames: np.ndarray) -> None:
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["time", *(f"{name}.{axis}" for name in NAMES for axis in "xyz")])
        for k, frame in enumerate(frames):
            out.writerow([f"{k / RATE:.4f}", *(f"{x:.5f}" for x in frame.ravel())])


# dex-retargeting's vectors: from the wrist, 95 mm behind the palm's frame, to the tips, as much longer as a straight finger is.
LINKS = {finger: ("palm", f"{finger}_tip") for finger in ("thumb", "index", "middle", "ring")}
SCALE, WRIST = 1.15, np.array([0.0, 0.0, -0.095])


def vectors(frames: np.ndarray) -> np.ndarray:
    """The vectors from the palm's frame to the tips (n, 4, 3) in the Allegro hand's axes, palm taken out."""
    found = []
    for frame in frames:
        wrist, index, last = frame[0], frame[5], frame[13]
        forward = (index + last) / 2 - wrist
        forward /= np.linalg.norm(forward)
        across = index - last
        across -= forward * (forward @ across)
        across /= np.linalg.norm(across)
        human = np.array([forward, across, np.cross(forward, across)])  # rows
        # Fingers of the hand point along z, the index finger is on the side of y.
        hand = np.array([[0, 0, 1.0], [0, 1.0, 0], [-1.0, 0, 0]])
        found.append([SCALE * hand.T @ human @ (frame[4 * f + 4] - wrist) + WRIST for f in range(4)])
    return np.array(found)


def ours(binary: Path, goals: np.ndarray, folder: Path, scene: str, margin: str) -> tuple[np.ndarray, list[str], dict]:
    """Commands (n, 16), the joints' names, and what the program says."""
    names = list(LINKS)
    text = f"keypoints = {json.dumps(['origin', *names])}\n"
    for finger, (knuckle, tip) in LINKS.items():
        text += f'[[vector]]\nname = "{finger}"\nfrom = {{ link = "hand/{knuckle}" }}\nto = {{ link = "hand/{tip}" }}\n'
        text += f'keypoints = ["origin", "{finger}"]\nscale = 1.0\n'
    (folder / "map.toml").write_text(text)
    lines = [json.dumps({"time": k / RATE, "keypoints": [[0, 0, 0], *frame.tolist()]}) for k, frame in enumerate(goals)]
    (folder / "motion.jsonl").write_text("\n".join(lines))
    (folder / "hand.toml").write_text(scene)
    arguments = ["follow", "hand.toml", "motion.jsonl", "--map", "map.toml", "--output", "u.csv", "--json", "--margin", margin]
    done = subprocess.run([str(binary), *arguments], cwd=folder, capture_output=True, text=True, check=True)
    with (folder / "u.csv").open() as file:
        header = file.readline().strip().split(",")
        u = np.loadtxt(file, delimiter=",")
    return u, [name.split("/")[1] for name in header], json.loads(done.stdout)


def theirs(goals: np.ndarray, alpha: float) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Joints (n, 16) of dex-retargeting's vector optimiser, their names, and seconds for each frame."""
    from dex_retargeting.retargeting_config import RetargetingConfig

    config = RetargetingConfig.from_dict({
        "type": "vector",
        "urdf_path": str(ROOT / "assets/robots/allegro16.urdf"),
        "target_origin_link_names": [knuckle for knuckle, _ in LINKS.values()],
        "target_task_link_names": [tip for _, tip in LINKS.values()],
        "target_link_human_indices": [[0] * 4, [1, 2, 3, 4]],
        "scaling_factor": 1.0,
        "low_pass_alpha": alpha,
    })  # fmt: skip
    retargeting = config.build()
    retargeting.set_qpos(np.zeros(retargeting.optimizer.robot.dof))
    q, seconds = [], []
    for frame in goals:
        start = time.perf_counter()
        q.append(retargeting.retarget(frame))
        seconds.append(time.perf_counter() - start)
    return np.array(q), retargeting.optimizer.robot.dof_joint_names, np.array(seconds)


def judged(q: np.ndarray, names: list[str], goals: np.ndarray) -> dict:
    """Errors by pinocchio's kinematics, m; how far joints are beyond their limits, rad; their accelerations, rad/s²."""
    import pinocchio

    model = pinocchio.buildModelFromUrdf(str(ROOT / "assets/robots/allegro16.urdf"))
    data = model.createData()
    order = [names.index(name) for name in list(model.names)[1:]]
    q = q[:, order]
    frames = {name: model.getFrameId(name) for links in LINKS.values() for name in links}
    errors = []
    for row, goal in zip(q, goals):
        pinocchio.framesForwardKinematics(model, data, row)
        at = {name: data.oMf[frame].translation.copy() for name, frame in frames.items()}
        errors.append([np.linalg.norm(at[b] - at[a] - g) for (a, b), g in zip(LINKS.values(), goal)])
    beyond = np.maximum(model.lowerPositionLimit - q, q - model.upperPositionLimit).max()
    acceleration = np.diff(q[1:], 2, axis=0) * RATE**2
    return {"mean": np.mean(errors), "largest": np.max(errors), "beyond": max(0.0, beyond), "shake": np.sqrt(np.mean(acceleration**2))}


def main(binary: Path) -> None:
    goals = vectors(motion())
    scene = f"""
[[robot]]
name = "hand"
urdf = {json.dumps(str(ROOT / "assets/robots/allegro16.urdf"))}
collision = [
"""
    capsules = [("index", 1, 0.027), ("index", 2, 0.0192), ("index", 3, 0.01335)]
    capsules = [(f, link, half) for f in ("index", "middle", "ring") for _, link, half in capsules]
    capsules += [("thumb", 2, 0.0257), ("thumb", 3, 0.02115)]
    scene += "".join(f'    {{ link = "{f}_tip", sphere = 0.012 }},\n' for f in LINKS)
    scene += "".join(f'    {{ link = "{f}_link_{k}", capsule = [0.01, {h}], at = [0.0, 0.0, {h}] }},\n' for f, k, h in capsules) + "]\n"
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for label, margin in (("fingertip", "0.001"), ("fingertip, own pairs free", "none")):
            u, names, said = ours(binary, goals, Path(name), scene, margin)
            rows.append((label, judged(u, names, goals), np.array(said["seconds"]), said["least_gap"]))
    for alpha in (1.0, 0.2):
        q, names, seconds = theirs(goals, alpha)
        rows.append((f"dex-retargeting, low-pass {alpha:g}", judged(q, names, goals), seconds, None))
    print("| | mean, mm | largest, mm | beyond limits, mrad | accelerations, rad/s² | a frame, µs: median | largest | least gap, mm |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for label, of, seconds, gap in rows:
        numbers = [f"{1e3 * of[k]:.2f}" for k in ("mean", "largest", "beyond")] + [f"{of['shake']:.1f}"]
        numbers += [f"{1e6 * np.median(seconds):.0f}", f"{1e6 * seconds[1:].max():.0f}", "" if gap is None else f"{1e3 * gap:.2f}"]
        print(f"| {label} | " + " | ".join(numbers) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/fingertip")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    if arguments.write:
        write(arguments.write, motion())
    else:
        main(arguments.binary.resolve())
