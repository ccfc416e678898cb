"""One world as an environment of gymnasium's, for what knows no batches."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import iterate

from .worlds import Worlds


class Single(gymnasium.Env[Any, Any]):
    """A world of an environment alone: without axes for worlds, and reset by whoever steps it. `worlds` is the environment of one world; what
    is not gymnasium's own, `sim` and so on, is looked for there. It costs a batch of one: many worlds are stepped faster by
    `gymnasium.make_vec`."""

    metadata = {"render_modes": ["replay"]}

    def __init__(self, worlds: type[Worlds], **keywords: Any) -> None:
        self.worlds = worlds(num_envs=1, autoreset_mode=AutoresetMode.DISABLED, **keywords)
        self.observation_space = self.worlds.single_observation_space
        self.action_space = self.worlds.single_action_space
        self.render_mode = self.worlds.render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode: the observation, and infos. There are no options."""
        super().reset(seed=seed)
        observation, infos = self.worlds.reset(seed=seed)
        return self._first(observation), self._of(infos)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """The observation, the reward, is the episode ended or truncated, and infos after an action."""
        observation, reward, terminated, truncated, infos = self.worlds.step(np.asarray(action)[None])
        return self._first(observation), float(reward[0]), bool(terminated[0]), bool(truncated[0]), self._of(infos)

    def render(self) -> Any:
        """The episode so far: see `Worlds.render`."""
        return self.worlds.render()

    def close(self) -> None:
        self.worlds.close()

    def __getattr__(self, name: str) -> Any:
        if name == "worlds" or name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.worlds, name)

    def _first(self, observation: Any) -> Any:
        return next(iter(iterate(self.worlds.observation_space, observation)))

    def _of(self, infos: dict[str, Any]) -> dict[str, Any]:
        return {name: values[0] for name, values in infos.items() if not name.startswith("_")}
