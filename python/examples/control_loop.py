"""A control loop with a deadline and a watchdog: a ball is turned in an Allegro hand that another process simulates.

    python python/examples/control_loop.py

The plant steps the hand by its own clock, with the newest command that a socket has, and sends what it measures. The loop ticks at the
task's rate: it takes the newest measurement, sends the command that was planned since the tick before, and begins the next plan. So a
plan has one period of time, and its command takes effect one period after its measurement, which the planner reckons with. A plan that
is late is dropped and the last command held; after five misses in a row the watchdog lets the joints stay where they are, for good.

The planner is late once, which must not end it, and hangs in the end, which must. The program prints rate, lateness and misses, and
fails where something is not as it should be.
"""

import argparse
import multiprocessing
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import fingertip as ft

PLANNED, HELD, SAFE = "planned", "held", "safe"
# s without a command, after which the plant ends.
SILENCE = 5.0


class Loop:
    """A command for each period, of a planner that may be late or fail.

    `plan` is called in a thread, with a measured state (nq,) and the command that was in effect in the period before it (nu,); it gives
    the command of the period after. `u` (nu,) is the first command. After `misses` periods in a row for which no plan came in time,
    whatever the reason, the command is `safe` of the last measured state, and stays."""

    def __init__(self, plan, safe, u, misses=5):
        if misses < 1:
            raise ft.Error(f"misses: expected at least 1, got {misses}")
        self.plan, self.safe, self.most = plan, safe, misses
        self.u, self.measured, self.misses = np.asarray(u), None, 0
        self.thread, self.job, self.is_late = ThreadPoolExecutor(1), None, False

    def tick(self, measured):
        """The command of the period that begins now (nu,), and its kind. `measured` is the newest state, or None if none came since the
        tick before. It does not wait."""
        is_first = self.measured is None
        if measured is not None:
            self.measured = measured
        if self.misses == self.most:
            return self.u, SAFE
        before, runs = self.u, self.job is not None and not self.job.done()
        planned = not (self.job is None or runs or self.is_late) and self.job.exception() is None
        if planned:
            self.u, self.misses = self.job.result(), 0
        elif not is_first:
            self.misses += 1
        if self.misses == self.most:
            self.u = self.safe(self.measured)
            return self.u, SAFE
        # One plan at a time: while one is late, there is none for the next period either.
        self.is_late = runs
        if not runs:
            self.job = None if measured is None else self.thread.submit(self.plan, measured, before)
        return self.u, PLANNED if planned else HELD


def task_at(name, rate):
    """A task with so many control periods in a second; 0 is its own rate."""
    task = ft.Task.load(name)
    if rate == 0:
        return task
    steps = task.hold / (task.period * rate)
    if rate < 0 or round(steps) < 1 or abs(steps - round(steps)) > 1e-6:
        raise ft.Error(f"rate: expected 1/(n · {task.period / task.hold:.4g} s) with a whole n, or 0, got {rate} Hz")
    return task.replace(hold=round(steps))


def planner(task, controller):
    """`Loop.plan` by model-predictive control, which ends its search within half a period. It begins with a plan, since a process's first
    takes longest; and a controller that was made in a busy moment takes that for the time that it needs, and is made again."""

    def plan(measured, before):
        return controller.command(measured, limit=0.5 * task.period, latency=task.period, applied=before).u

    for _ in range(5):
        if controller.command(controller.episode.q, limit=0.5 * task.period).plan is not None:
            return plan
        controller.reset(controller.episode)
    raise ft.Error(f"rate: expected one at which half a period is enough for a plan, got {1 / task.period:.4g} Hz")


def stay(model):
    """`Loop.safe`: the measured positions of the commanded joints, at which their springs pull nowhere."""
    joints = [model.q_names.index(name) for name in model.u_names]
    return lambda measured: measured[joints]


def plant(name, rate, q, u, port):
    """Steps the task's scene with contacts harder than the planner's. Each step it takes the newest command, [number, u], and sends
    [number of the command in effect, q]."""
    task = task_at(name, rate)
    sim, h = ft.Quasidynamic(task.model, threads=1, kappa=1e6), task.period / task.hold
    number, step = 0.0, None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.connect(("127.0.0.1", port))
        link.setblocking(False)
        due = heard = time.monotonic()
        while time.monotonic() - heard < SILENCE:
            if (got := newest(link)) is not None:
                number, u, heard = got[0], got[1:], time.monotonic()
                if number < 0:
                    return
            step = sim.step(q, u, warm=None if step is None else step.warm)
            q = step.q_next
            if not send(link, number, q):
                return
            due += h
            time.sleep(max(due - time.monotonic(), 0.0))


def send(link, number, numbers):
    """Sends a datagram; False if nobody is there."""
    try:
        link.send(np.concatenate([[number], numbers]).tobytes())
    except ConnectionRefusedError:
        return False
    return True


def newest(link):
    """The last datagram that waits, or None."""
    got = None
    try:
        while True:
            got = link.recv(65536)
    except (BlockingIOError, ConnectionRefusedError):
        return None if got is None else np.frombuffer(got)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="allegro_ball", help="a task, as fingertip.Task.load takes it (allegro_ball)")
    parser.add_argument("--rate", type=float, default=0, help="commands in a second (those of the task)")
    parser.add_argument("--misses", type=int, default=5, help="misses in a row after which the watchdog acts (5)")
    parser.add_argument("--late", type=int, default=8, help="the plan that takes 1.2 periods longer (8)")
    parser.add_argument("--hang", type=int, default=25, help="the plan that never comes (25)")
    given = parser.parse_args()

    task = task_at(given.task, given.rate)
    model, period = task.model, task.period
    controller = ft.Controller(task)
    episode, command, plans = controller.episode, planner(task, controller), 0

    def plan(measured, before):
        nonlocal plans
        plans += 1
        # The plan itself takes half a period at most.
        time.sleep({given.late: 1.2 * period, given.hang: 2 * given.misses * period}.get(plans, 0.0))
        return command(measured, before)

    loop = Loop(plan, stay(model), episode.u, given.misses)
    log = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.bind(("127.0.0.1", 0))
        at = (given.task, given.rate, episode.q, episode.u, link.getsockname()[1])
        process = multiprocessing.get_context("spawn").Process(target=plant, args=at, daemon=True)
        process.start()
        # The plant's first datagram says where it is.
        link.settimeout(60.0)
        _, there = link.recvfrom(65536)
        link.connect(there)
        link.setblocking(False)
        due, after = time.monotonic(), 0
        # Half a second after the watchdog the hand must be at rest.
        while after * period < 0.5 and len(log) < given.hang + given.misses + 60:
            time.sleep(max(due - time.monotonic(), 0.0))
            begun = time.monotonic()
            got = newest(link)
            u, kind = loop.tick(None if got is None else got[1:])
            send(link, len(log) + 1, u)
            log.append((begun, begun - due, time.monotonic() - begun, kind, u, np.full(model.nq + 1, np.nan) if got is None else got))
            due += period
            after += kind == SAFE
        send(link, -1, u)
        process.join(0.5 * SILENCE)

    times, lateness, work, kinds, sent, measured = (np.array(column) for column in zip(*log))
    runs = "".join({PLANNED: "p", HELD: "h", SAFE: "s"}[kind] for kind in kinds)
    rate = 1.0 / np.median(np.diff(times))
    far = [task.errors(episode.goal, q).rotation for q in measured[:, 1:] if np.isfinite(q).all()]
    late, took = (f"{1e3 * np.median(of):.2f} ms, at most {1e3 * of.max():.1f}" for of in (lateness, work))
    print(f"rate {rate:.2f} Hz of {1 / period:.2f}; a tick is late by {late}, and takes {took}")
    print(f"{runs}: {runs.count('p')} planned, {runs.count('h')} held, {runs.count('s')} safe")
    print(f"the ball is {far[0]:.2f} rad from its goal at first and {min(far):.2f} at best")

    moved = np.abs(np.diff(stay(model)(measured[-2:].T[1:]), axis=1)).max()
    for holds, should in [
        (abs(rate * period - 1.0) < 0.1, "the rate is within a tenth of what was asked for"),
        (process.exitcode == 0, "the plant ends when it is told to"),
        ("phhp" in runs, "a late plan is dropped, the last command held for two periods, and plans go on"),
        (runs.rstrip("s").endswith("p" + "h" * (given.misses - 1)), f"the watchdog acts after {given.misses} misses in a row"),
        (all((a == b).all() for a, b, kind in zip(sent[1:], sent, kinds[1:]) if kind == HELD), "held is the command before"),
        ((sent[kinds == SAFE] == sent[-1]).all(), "the safe command stays"),
        (measured[-1, 0] >= len(log) - 2, "the plant follows the newest command"),
        (moved < 0.01, f"the joints are at rest in the end: {moved:.4f} rad in the last period"),
        (min(far) < 0.7 * far[0], "the ball is turned towards its goal"),
    ]:
        if not holds:
            print(f"not as it should be: {should}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
