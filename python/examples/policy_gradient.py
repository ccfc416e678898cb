"""Policy learning two ways on one environment: gradients through the simulator beside PPO, which does without.

Two fingers bring a disc to a goal: its place within ± 20 × 15 mm and its turn within ± 0.25 rad. An episode is ten control periods of a
tenth of a second; the observation is where the disc is seen from the goal, and how the fingers stand; an action draws the joints' springs.
Rewards are what is lost: minus the squared errors, in units of 10 mm and 0.1 rad. An episode succeeds if it ends within 5 mm and 0.05 rad.

- `gradient` rolls 32 episodes out in torch, and `backward` goes through contacts, joints and network: short-horizon analytic policy
  gradients, with Adam.
- `ppo` is stable-baselines3's, on the same environment as its `VecEnv` with as many worlds side by side, a network of the same size, and
  settings that are usual for short episodes.

Both are stopped when 80 % of 256 episodes succeed that they have not learned from, which is tried every 1280 periods; then their times are
compared, medians over seeds.

    python python/examples/policy_gradient.py [gradient] [ppo] [--seeds 3] [--seconds 600]
"""

import sys
import time

import gymnasium
import numpy as np
import torch

import fingertip as ft

H, HOLD, PERIODS, WORLDS = 0.02, 5, 10, 32
BOUND = 0.15  # rad, of an action of 1
CLOSE = np.array([-0.04, 0.01, 0.04, -0.01])  # rad, at first: the fingers close
SPREAD, UNIT = np.array([0.02, 0.015, 0.25]), np.array([0.01, 0.01, 0.1])  # m, m, rad
NEAR = (5e-3, 0.05)  # m, rad: success
ENOUGH = 0.8

model = ft.Model.load("two_fingers")
sim = ft.Quasidynamic(model, h=H, kappa=1e4)
home = model.home()
torch.set_num_threads(1)


def observed(q, goal):
    """What a policy sees (B, 7), of arrays or tensors."""
    array, joined = (torch.from_numpy, torch.cat) if isinstance(q, torch.Tensor) else (np.asarray, np.concatenate)
    return joined([(q[:, :3] - goal) / array(SPREAD), (q[:, 3:] - array(home[3:])) / 0.2], 1)


def goals(random, n):
    return home[:3] + SPREAD * random.uniform(-1, 1, (n, 3))


def success(q, goal):
    error = np.abs(q[:, :3] - goal)
    return (np.hypot(error[:, 0], error[:, 1]) < NEAR[0]) & (error[:, 2] < NEAR[1])


def tried(act):
    """The share of 256 unseen episodes in which `act`, a function of observations (B, 7) to actions (B, 4), succeeds."""
    goal = goals(np.random.default_rng(10**6), 256)
    q = np.tile(home, (len(goal), 1))
    for _ in range(PERIODS):
        q = sim.hold(q, q[:, 3:] + BOUND * act(observed(q, goal)), HOLD).q[:, -1]
    return success(q, goal).mean()


class Watch:
    """The time of learning without its tests, s: the wall's and the processors'."""

    def __init__(self):
        self.spent, self.begun = np.zeros(2), self.now()

    @staticmethod
    def now():
        return np.array([time.perf_counter(), time.process_time()])

    def test(self, act):
        """The share of unseen episodes in which `act` succeeds, with the watch stopped."""
        self.spent += self.now() - self.begun
        share = tried(act)
        self.begun = self.now()
        return share


class Policy(torch.nn.Module):
    """A layer of 32 numbers, as in the example 15_policy in Rust. At first it closes the fingers."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(7, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4), torch.nn.Tanh()).double()
        with torch.no_grad():
            self.layers[2].weight.mul_(0.1)
            self.layers[2].bias.copy_(torch.tensor(np.arctanh(CLOSE / BOUND)))

    def forward(self, observation):
        return self.layers(observation)

    def act(self, observation):
        with torch.no_grad():
            return self(torch.from_numpy(observation)).numpy()


def by_gradient(seed, seconds):
    torch.manual_seed(seed)
    random, policy, rollout = np.random.default_rng(seed), Policy(), ft.torch.rollout(sim)
    adam = torch.optim.Adam(policy.parameters(), lr=4e-3)
    units = torch.tensor(UNIT)
    watch, change = Watch(), 0
    while True:
        if change % 4 == 0:
            share = watch.test(policy.act)
            if share >= ENOUGH or watch.spent[0] > seconds:
                return watch.spent, share, change * WORLDS * PERIODS
        goal = torch.from_numpy(goals(random, WORLDS))
        q, loss = torch.from_numpy(np.tile(home, (WORLDS, 1))), 0.0
        for period in range(PERIODS):
            u = q[:, 3:] + BOUND * policy(observed(q, goal))
            q = rollout(q, u[:, None].expand(-1, HOLD, -1)).q[:, -1]
            # The first half of an episode is the way there.
            if period >= PERIODS // 2:
                loss = loss + (((q[:, :3] - goal) / units) ** 2).sum(1).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        change += 1


def by_ppo(seed, seconds):
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import VecEnv

    class Disc(VecEnv):
        """The environment in stable-baselines3's form: worlds begin anew where they end."""

        def __init__(self):
            seen, actions = (gymnasium.spaces.Box(-size, size, (n,), np.float32) for size, n in ((np.inf, 7), (1.0, 4)))
            super().__init__(WORLDS, seen, actions)
            self.random = np.random.default_rng(seed)

        def reset(self):
            self.q, self.goal, self.period = np.tile(home, (WORLDS, 1)), goals(self.random, WORLDS), 0
            return observed(self.q, self.goal).astype(np.float32)

        def step_async(self, actions):
            self.actions = actions

        def step_wait(self):
            # An action of 0 closes the fingers, as the untrained policy of the other way does.
            target = np.tanh(np.arctanh(CLOSE / BOUND) + self.actions)
            self.q = sim.hold(self.q, self.q[:, 3:] + BOUND * target, HOLD).q[:, -1]
            self.period += 1
            late = self.period > PERIODS // 2
            reward = -(((self.q[:, :3] - self.goal) / UNIT) ** 2).sum(1) * late
            seen, done = observed(self.q, self.goal).astype(np.float32), self.period == PERIODS
            infos = [{"terminal_observation": row} if done else {} for row in seen]
            return (self.reset() if done else seen), reward, np.full(WORLDS, done), infos

        def close(self):
            pass

        def get_attr(self, name, indices=None):
            return [getattr(self, name, None)] * WORLDS

        def set_attr(self, name, value, indices=None):
            setattr(self, name, value)

        def env_method(self, name, *arguments, indices=None, **options):
            return [None] * WORLDS

        def env_is_wrapped(self, wrapper, indices=None):
            return [False] * WORLDS

    class Test(BaseCallback):
        share = 0.0

        def _on_training_start(self):
            self.watch = Watch()

        def _on_step(self):
            return self.share < ENOUGH and self.watch.spent[0] < seconds

        def _on_rollout_start(self):
            predict = lambda seen: self.model.predict(seen.astype(np.float32), deterministic=True)[0]
            self.share = self.watch.test(lambda seen: np.tanh(np.arctanh(CLOSE / BOUND) + predict(seen)))

    network = {"net_arch": [32], "activation_fn": torch.nn.Tanh, "log_std_init": -1.0}
    options = {"n_steps": 4 * PERIODS, "batch_size": 320, "n_epochs": 10, "learning_rate": 1e-3, "gamma": 0.95, "ent_coef": 0.0}
    test = Test()
    PPO("MlpPolicy", Disc(), policy_kwargs=network, seed=seed, device="cpu", **options).learn(10**9, callback=test)
    return test.watch.spent, test.share, test.num_timesteps


def main(arguments):
    seeds, seconds = (
        type(arguments[arguments.index(name) + 1]) if name in arguments else default
        for name, type, default in (("--seeds", int, 1), ("--seconds", float, 600.0))
    )
    ways, times = {"gradient": by_gradient, "ppo": by_ppo}, {}
    for seed in range(seeds):
        for name, way in ways.items():
            if name in arguments or not set(ways) & set(arguments):
                (wall, processor), share, periods = way(seed, seconds)
                print(f"{name}, seed {seed}: {share:.2f} succeed after {wall:.1f} s, {processor:.1f} of processors, {periods} periods", flush=True)
                times.setdefault(name, []).append((wall, processor) if share >= ENOUGH else (np.inf, np.inf))
    medians = {name: np.median(of, axis=0) for name, of in times.items()}
    if len(medians) == 2:
        wall, processor = medians["ppo"] / medians["gradient"]
        print(f"medians of {seeds}: PPO needs {wall:.1f} times as long, {processor:.1f} times the processors' time")


if __name__ == "__main__":
    main(sys.argv[1:])
