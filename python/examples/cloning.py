"""Plans as demonstrations: model-predictive control shows a network how a tip pushes a box to a place and a turn.

Episodes of the task `planar_push` are planned side by side, on all processors; their states and decisions go to a folder of Parquet
files, and what is there already is not planned again. A network learns the planner's decisions (behaviour cloning), and is tried alone
on episodes that it has not seen, against the same plant.

    python python/examples/cloning.py out/demonstrations [episodes] [processes]
"""

import sys
import time

import numpy as np
import pyarrow.parquet
import torch

import fingertip as ft
from fingertip import cluster

TASK, BOUND = "planar_push", 0.16  # m: decisions within ± BOUND of where the tip is
UNSEEN = range(10_000, 10_020)


def demonstrations(chunk):
    """The planned episodes of these worlds: for each its first 100 periods, the last state again where it ended before."""
    task = ft.Task.load(TASK).replace(cap=100)
    rows = {"q": [], "goal": [], "v": [], "periods": []}
    for episode in chunk.worlds:
        run = ft.mpc.run(task, episode=int(episode))
        n = len(run.u)
        tip = [task.model.joint(name).q.start for name in task.model.u_names]
        rows["q"].append(np.pad(run.q[:-1], ((0, 100 - n), (0, 0)), "edge"))
        rows["v"].append(np.pad(run.u - run.q[:-1, tip], ((0, 100 - n), (0, 0)), "edge"))
        rows["goal"].append([*run.episode.goal.position[:2], run.episode.goal.yaw])
        rows["periods"].append(n if run.success else 0)
    return {name: np.array(of) for name, of in rows.items()}


def observed(q, goal):
    """The tip and the goal seen from the box (…, 7): places in its frame, and turns."""
    (x, y, yaw, *tip), (goal_x, goal_y, goal_yaw) = np.moveaxis(q, -1, 0), np.moveaxis(goal, -1, 0)
    turned = lambda a, b: (np.cos(yaw) * a + np.sin(yaw) * b, np.cos(yaw) * b - np.sin(yaw) * a)
    return np.stack([*turned(tip[0] - x, tip[1] - y), *turned(goal_x - x, goal_y - y), goal_yaw - yaw, np.sin(yaw), np.cos(yaw)], -1)


def learned(seen, decisions, epochs=300):
    """A network of two layers that gives the decisions."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [torch.nn.Linear(7, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2), torch.nn.Tanh()]
    network, seen, decisions = torch.nn.Sequential(*layers), torch.tensor(seen, dtype=torch.float32), torch.tensor(decisions / BOUND, dtype=torch.float32)
    adam = torch.optim.Adam(network.parameters(), 1e-3)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(adam, epochs)
    for _ in range(epochs):
        for batch in torch.randperm(len(seen)).split(1024):
            loss = torch.nn.functional.smooth_l1_loss(network(seen[batch]), decisions[batch], beta=0.1)
            adam.zero_grad()
            loss.backward()
            adam.step()
        slower.step()
    return network


def tried(task, network, episode):
    """Does the network alone bring the box there, in the task's own measure?"""
    begun, plant, progress = task.episode(episode), ft.mpc.Plant(task), ft.mpc.Progress(task)
    plant.reset(begun)
    goal = np.array([*begun.goal.position[:2], begun.goal.yaw])
    tip = [task.model.joint(name).q.start for name in task.model.u_names]
    while not progress.is_over:
        q = plant.q
        with torch.no_grad():
            v = BOUND * network(torch.tensor(observed(q, goal), dtype=torch.float32)).numpy()
        plant.advance(q[tip] + v)
        progress.count(task.errors(begun.goal, plant.q))
    return progress.success is not None


def main(folder, episodes=400, processes=2):
    start = time.perf_counter()
    cluster.dataset(demonstrations, int(episodes), folder, size=10, on=int(processes), progress=True)
    planned = time.perf_counter()
    table = pyarrow.parquet.read_table(folder)
    q, v, goal, n = (np.array(table[name].to_pylist()) for name in ("q", "v", "goal", "periods"))
    # Of episodes that succeeded, all periods.
    keep = np.arange(100) < n[:, None]
    goal = np.repeat(goal[:, None], 100, 1)
    network = learned(observed(q, goal)[keep], v[keep])
    trained = time.perf_counter()
    task = ft.Task.load(TASK)
    share = np.mean([tried(task, network, episode) for episode in UNSEEN])
    print(f"{(n > 0).mean():.2f} of {len(n)} planned episodes succeed within 100 periods: {keep.sum()} periods, {planned - start:.0f} s")
    print(f"learned in {trained - planned:.0f} s; alone the network succeeds in {share:.2f} of {len(UNSEEN)} unseen episodes")


if __name__ == "__main__":
    main(*sys.argv[1:])
