"""Model-predictive control: tasks, controllers, plants, and runs of them.

    task = fingertip.Task.load("hand_turn")
    run = fingertip.mpc.run(task)
    print(run)

`Task` and `Controller` are what a robot's own loop needs: measured states in, commands out. `run` is such a loop, with one of the
library's steps as the plant or any other.
"""

import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._fingertip import Answer, Controller, Cost, Episode, Error, Errors, Goal, Plan, Plant, Progress, Task

__all__ = [
    "Answer",
    "Controller",
    "Cost",
    "Episode",
    "Errors",
    "Goal",
    "Plan",
    "Plant",
    "Progress",
    "Run",
    "Task",
    "run",
]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One episode of N control periods. All arrays are numpy's, and it pickles."""

    task: Task
    """The task."""
    episode: Episode
    """The episode: its number, start and goal."""
    time: Array
    """Time of each state, s (N + 1,)."""
    q: Array
    """States at the beginning of each period and at the end (N + 1, nq), m and rad."""
    u: Array
    """Commands (N, nu), rad and m."""
    errors: dict[str, Array]
    """How far the object is from its goal in each state (N + 1,): `"position"` m, `"rotation"` rad, `"quaternion"` 1 − ⟨q, q*⟩²,
    `"joints"` rad or m. Parts that the goal leaves free are not there."""
    success: int | None
    """The period in which the episode succeeded, from 1; None if it did not."""
    lost: bool
    """Was an object lost, out of every robot's reach and beyond, so that the episode ended?"""
    cost: Array
    """The cost of each period's plan (N,); NaN without a plan."""
    outcome: tuple[str, ...]
    """Why each period's search ended (N): see `Answer.outcome`."""
    iterations: NDArray[np.int64]
    """Iterations of each period's search (N,)."""
    doing: tuple[str, ...]
    """What was planned for in each period (N): see `Answer.doing`."""
    stall: tuple[str | None, ...]
    """Why the plans before had stalled, where a way out was planned (N): see `Answer.stall`."""
    seconds: Array
    """Time of each period's command, s (N,)."""
    plan: Array
    """The states that each period's plan expects (N, T + 1, nq); NaN without a plan."""
    path: Array
    """States that the plant gave within the periods (N k + 1, nq), k for each; `q` again if it gave one."""
    force: Array | None
    """Contact forces on B in world axes along the path (N k, nc, 3), N, of the library's own plants; None of others."""
    unsolved: int | None
    """Steps of the plant that had no solution, of the library's own plants; None of others."""

    def __repr__(self) -> str:
        last = ", ".join(f"{name} {values[-1]:.3g}" for name, values in self.errors.items())
        end = f"success at {self.success}" if self.success else "lost" if self.lost else "no success"
        return f"<fingertip.mpc.Run of \"{self.task.title}\", episode {self.episode.number}: {end}, {len(self.u)} periods, errors {last}>"


def run(
    task: Task | str | os.PathLike[str],
    plant: Plant | Callable[[Array, Array], Any] | None = None,
    *,
    episode: int | Episode = 0,
    seed: int = 0,
    limit: float | None = None,
    goal: Goal | None = None,
    q: Any = None,
    costs: Sequence[Cost] = (),
    each: Callable[[Answer, Array], Any] | None = None,
    supervised: bool = True,
    progress: bool | None = None,
) -> Run:
    """One episode of a task; a string is its file or name, as `Task.load` takes it.

    `plant` is `Plant(task)`, the library's own with harder contacts than the planner believes, if it is left out; a `Plant` with
    other options; or any callable from q (nq,) and the command u (nu,) to the state a control period later: (nq,), or the states
    within the period (k, nq), k always the same. If it returns a tuple, the second is the velocity (nv,) that the next plan
    reckons with. A callable with state of its own may have a method `reset(episode)`, which is called first.

    `episode` is the episode or its number, drawn with the `seed`; `goal` and `q` replace its goal and its start. `limit` is the
    time for each command, s; without one the task's iterations are made. `costs` are added to the task's objective. `each` is
    called after each period with the answer and the state that was reached, and ends the episode by returning True. With
    `supervised=False` the task's supervisor does nothing. `progress` writes a line a second to `sys.stderr`: the period, how long a
    command takes, how long all may take, and the errors; if it is left out, where that is a terminal.

    Errors and success are those of the true state. Episodes do not depend on each other: for a table of many, call this in
    `concurrent.futures` or a list.
    """
    task = task if isinstance(task, Task) else Task.load(task)
    if not (plant is None or isinstance(plant, Plant) or callable(plant)):
        raise Error(f"plant: expected a Plant, or what is called with a state and a command, got {plant!r}")
    controller = Controller(task, episode, seed, goal=goal, q=q, costs=list(costs), supervised=supervised)
    begun = controller.episode
    world = _World(task, Plant(task) if plant is None else plant, begun, seed)
    done = Progress(task)
    line = _Line(task, _is_terminal() if progress is None else progress)
    states, errors = [world.q], [task.errors(begun.goal, world.q)]
    answers: list[Answer] = []
    paths: list[Array] = []
    forces: list[Array] = []
    while not done.is_over:
        measured, velocity = world.measure()
        answer = controller.command(measured, limit, velocity=velocity)
        path, force = world.advance(np.array(answer.u))
        answers.append(answer)
        paths.append(path)
        if force is not None:
            forces.append(force)
        states.append(world.q)
        errors.append(task.errors(begun.goal, world.q))
        done.count(errors[-1])
        line.tell(done.step, errors[-1])
        if each is not None and each(answer, world.q):
            break
    line.end()
    plans = [answer.plan for answer in answers]
    none = np.full((controller.horizon + 1, len(begun.q)), math.nan)
    names = [name for name in ("position", "rotation", "quaternion", "joints") if getattr(errors[0], name) is not None]
    return Run(
        task=task,
        episode=begun,
        time=np.arange(len(states), dtype=np.float64) * task.period,
        q=np.array(states),
        u=np.array([answer.u for answer in answers]),
        errors={name: np.array([getattr(error, name) for error in errors]) for name in names},
        success=done.success,
        lost=done.lost,
        cost=np.array([math.nan if plan is None else plan.cost for plan in plans]),
        outcome=tuple(answer.outcome for answer in answers),
        iterations=np.array([0 if plan is None else plan.iterations for plan in plans], np.int64),
        doing=tuple(answer.doing for answer in answers),
        stall=tuple(answer.stall for answer in answers),
        seconds=np.array([answer.seconds for answer in answers]),
        plan=np.array([none if plan is None else plan.q for plan in plans]),
        path=np.concatenate([states[0][None], *paths]),
        force=np.concatenate(forces) if forces else None,
        unsolved=world.unsolved,
    )


def _is_terminal() -> bool:
    # There is none where a program has no console.
    return sys.stderr is not None and sys.stderr.isatty()


class _Line:
    """A line on how far a run is, once a second."""

    def __init__(self, task: Task, is_on: bool) -> None:
        self.cap, self.is_on = task.cap, is_on
        # Over the line before, or below it where lines stay.
        self.start, self.stop = ("\r\x1b[K", "") if _is_terminal() else ("", "\n")
        self.begun = self.told = time.monotonic()
        if is_on:
            self._write(f"planning {self.cap} commands at most, of {task.model.nu} joints with {task.model.nc} contacts")

    def tell(self, n: int, errors: Errors) -> None:
        now = time.monotonic()
        if not self.is_on or now - self.told < 1.0:
            return
        self.told, each = now, (now - self.begun) / n
        values = {"position": (errors.position, "m"), "rotation": (errors.rotation, "rad"), "joints": (errors.joints, "")}
        far = ", ".join(f"{name} {x:.3g} {unit}".strip() for name, (x, unit) in values.items() if x is not None)
        left = f"{each:.2g} s each, {(self.cap - n) * each:.0f} s left at most"
        self._write(f"period {n} of {self.cap}, {left}: {far}")

    def end(self) -> None:
        if self.is_on:
            self._write("", "")

    def _write(self, text: str, stop: str | None = None) -> None:
        sys.stderr.write(self.start + text + (self.stop if stop is None else stop))
        sys.stderr.flush()


class _World:
    """A plant of either kind."""

    def __init__(self, task: Task, plant: Plant | Callable[[Array, Array], Any], episode: Episode, seed: int) -> None:
        self.plant = plant
        self.q: Array = np.array(episode.q)
        self.velocity: Any = None
        self.width: int | None = None
        if isinstance(plant, Plant):
            plant.reset(episode, seed)
        elif hasattr(plant, "reset"):
            plant.reset(episode)

    @property
    def unsolved(self) -> int | None:
        return self.plant.unsolved if isinstance(self.plant, Plant) else None

    def measure(self) -> tuple[Array, Any]:
        return self.plant.measure() if isinstance(self.plant, Plant) else (self.q, self.velocity)

    def advance(self, u: Array) -> tuple[Array, Array | None]:
        """The states after a command, and the forces if they are known."""
        force = None
        if isinstance(self.plant, Plant):
            path, force = self.plant.advance(u)
        else:
            given = self.plant(self.q.copy(), u)
            given, self.velocity = given if isinstance(given, tuple) else (given, None)
            path = np.array(given, np.float64, ndmin=2)
            nq = len(self.q)
            if path.ndim != 2 or path.shape[1] != nq or len(path) != (self.width or len(path)) or len(path) == 0:
                rows = "k" if self.width is None else self.width
                raise Error(f"plant: expected states of shape ({nq},) or ({rows}, {nq}), got {np.shape(given)}")
            if not np.isfinite(path[-1]).all():
                raise Error("plant: expected finite numbers in q, got others")
            self.width = len(path)
        self.q = path[-1]
        return path, force
