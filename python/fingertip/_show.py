"""Pictures of what happened, in a notebook or as a file."""

import os
import sys
import webbrowser
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._fingertip import Dynamic, DynamicRollout, Error, Live, Model, Quasidynamic, Replay, Rollout, Step, Task, _replay
from ._scene import Scene
from .mpc import Run


def show(
    what: Run | Model | Scene,
    q: Rollout | DynamicRollout | Step | ArrayLike | None = None,
    *,
    u: ArrayLike | None = None,
    force: ArrayLike | None = None,
    time: ArrayLike | None = None,
    world: int = 0,
    size: int = 2_000_000,
    height: int = 560,
) -> Replay:
    """A replay: a page to look at from all sides, with its contacts, forces and curves.

        fingertip.show(fingertip.mpc.run(task))
        fingertip.show(model, sim.rollout(q0, u))
        fingertip.show(model, q).save("run.html")
        fingertip.show(model)

    `what` is a run of a task, with its goal and plans; or a model, or a scene as it is compiled, whose states `q` are a rollout or an array (T + 1, nq). With
    more worlds, (B, T + 1, nq), `world` says which. `u` (T, nu) are the commands, `force` (T, nc, 3) the contact forces, N, and
    `time` (T + 1,) the times, s; what is left out is not known, and times are the model's h apart. Arrays of more worlds have
    the same first axis.

    A single state is q (nq,), with `u` (nu,) and `force` (nc, 3) without the axis T, or where a step ended, with its forces; without
    `q` it is the model's home. It stands for one step.

    In a notebook a cell shows it, in a frame that is `height` pixels high; notebooks keep the page, so it is cut to about `size`
    bytes by leaving out steps. `Replay.save` writes all of them.
    """
    if isinstance(what, Run):
        if q is not None or u is not None or force is not None or time is not None:
            raise Error("show: expected a run alone, which has its states")
        steps = max((len(what.path) - 1) // max(len(what.u), 1), 1)
        times = np.arange(len(what.path)) * (what.task.period / steps)
        commands = np.repeat(what.u, steps, axis=0)
        return _replay(what.task.model, what.path, times, commands, what.force, what, size, height)
    if isinstance(what, Scene):
        what = what.model()
    if not isinstance(what, Model):
        raise Error(f"show: expected a run, a model or a scene, got {type(what).__name__}")
    if isinstance(q, Rollout | DynamicRollout):
        force = q.force if force is None else force
        q = q.q
    elif isinstance(q, Step):
        force = np.asarray(q.force if force is None else force)[..., None, :, :]
        q = q.q_next[..., None, :]
    states = np.asarray(what.home() if q is None else q)
    many = states.ndim == 3

    def of_world(name: str, given: Any) -> Any:
        if given is None or not many:
            return given
        given = np.asarray(given)
        if not -len(given) <= world < len(given):
            raise Error(f"world: expected one of {len(given)}, the first axis of {name}, got {world}")
        return given[world]

    states, u, force = of_world("q", states), of_world("u", u), of_world("force", force)
    if states.ndim == 1:
        states, u, force = states[None], *(None if x is None else np.asarray(x)[None] for x in (u, force))
    if states.shape[:1] == (1,):
        # A state that stays.
        states = np.repeat(states, 2, axis=0)
    if time is None:
        time = np.arange(len(states)) * what.params["h"][0, 0]
    return _replay(what, states, time, u, force, None, size, height)


def live(what: Quasidynamic | Dynamic | Model | Scene | Task, *, address: str = "127.0.0.1:0", browse: bool = True) -> Live:
    """A page in the browser that shows the states of a running loop.

        with fingertip.live(sim) as view:
            for u in commands:
                q = sim.step(q, u).q_next
                view.show(q)

    `Live.show` hands a state over and returns at once: the page shows the newest one some 60 times a second, and what comes in between is
    passed over. In `fingertip.mpc.run` it is `each=lambda answer, q: view.show(q, answer.u)`. `what` has the model: a step, a model, a
    scene or a task.

    The page's address goes to `sys.stderr` and is `Live.url`; with `browse` it is opened where there is a screen. It is served to this
    machine only, unless `address` says otherwise, and nobody has to look: on a machine without a screen forward its port.
    """
    model = what.model() if isinstance(what, Scene) else what if isinstance(what, Model) else getattr(what, "model", None)
    if not isinstance(model, Model):
        raise Error(f"live: expected a step, a model, a scene or a task, got {type(what).__name__}")
    view = Live(model, address)
    if sys.stderr is not None:
        print(f"page       {view.url}", file=sys.stderr)
    if browse and (sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        webbrowser.open(view.url)
    return view
