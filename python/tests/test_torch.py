import numpy as np
import pytest
from conftest import near_home

import fingertip as ft

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def state(hand):
    sim = ft.Quasidynamic(hand, kappa=1e3)
    q, u = near_home(hand, 2)
    q = sim.hold(q, u, 40).q[:, -1]
    return sim, torch.tensor(q, requires_grad=True), torch.tensor(u, requires_grad=True)


def test_step(hand, state):
    sim, q, u = state
    mass = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    made = ft.torch.step(sim)(q, u, mass=mass)
    plain = sim.with_params(mass=[0.5]).step(q.detach().numpy(), u.detach().numpy())
    assert np.array_equal(made.q_next.detach(), plain.q_next) and np.array_equal(made.force.detach(), plain.force)
    assert made.status.dtype == torch.uint8 and not made.status.requires_grad
    (made.q_next[:, 2].sum() + made.force.sum()).backward()
    bar = np.zeros((2, hand.nq))
    bar[:, 2] = 1
    gradient = sim.with_params(mass=[0.5]).vjp(
        q.detach().numpy(), u.detach().numpy(), q_next_bar=bar, force_bar=np.ones((2, hand.nc, 3))
    )
    assert np.array_equal(q.grad, gradient.q) and np.array_equal(u.grad, gradient.u)
    assert np.array_equal(mass.grad, gradient.params["mass"][0])


def test_parameters_of_many_kinds(hand, state):
    sim, q, u = state
    of = ft.torch.step(sim)
    assert torch.equal(of(q, u, mu=0.25).q_next, of(q, u, mu=torch.full((1, len(hand.pair_names)), 0.25)).q_next)
    mass = torch.tensor([[0.4], [0.5]], requires_grad=True)  # single precision, a row for each world
    of(q, u, mass=mass).force.sum().backward()
    assert mass.grad.shape == (2, 1) and mass.grad.dtype == torch.float32 and mass.grad.abs().min() > 0


def test_on_a_device(hand, state, monkeypatch):
    """With the CPU in a GPU's place: tensors come and go by DLPack."""
    sim, q, u = state
    commands = u.detach()[:, None].repeat(1, 3, 1).requires_grad_()
    mass = torch.tensor([0.4], dtype=torch.float64, requires_grad=True)

    def worked(q, u, commands, mass):
        step, rollout = ft.torch.step(sim)(q, u, mass=mass), ft.torch.rollout(sim)(q, commands)
        cost = step.q_next[:, 2].sum() + step.force.sum() + rollout.q[:, -1, 2].sum()
        inputs = [x for x in (q, u, commands, mass) if x.requires_grad]
        return [*(x.detach() for x in (*step, *rollout)), *torch.autograd.grad(cost, inputs)]

    expected = worked(q, u, commands, mass)
    monkeypatch.setattr(ft.torch._Places, "of", lambda self, _: self.sim.on("cpu"))
    found = worked(q, u, commands, mass)
    assert len(found) == len(expected) == 5 + 3 + 4
    # Candle adds a gradient's parts in another order than the plain calls.
    assert all(torch.allclose(a, b, rtol=1e-11, atol=1e-11) and a.dtype == b.dtype for a, b in zip(found, expected))
    single = worked(q.detach().float(), u.detach().float().requires_grad_(), commands, mass)
    assert single[0].dtype == torch.float32 and torch.allclose(single[0].double(), expected[0], atol=1e-5)


def test_gradcheck_of_a_step(state):
    sim, q, u = state
    mu = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    of = ft.torch.step(sim)
    work = lambda q, u, mu: of(q, u, mu=mu)[:2]
    assert torch.autograd.gradcheck(work, (q, u, mu), eps=1e-7, atol=1e-5, rtol=1e-4)


def test_gradcheck_of_a_rollout(state):
    sim, q, u = state
    of = ft.torch.rollout(sim)
    u = u.detach()[:1, None].repeat(1, 3, 1).requires_grad_()
    q = q.detach()[:1].requires_grad_()
    assert torch.autograd.gradcheck(lambda q, u: of(q, u)[:2], (q, u), eps=1e-7, atol=1e-5, rtol=1e-4)


def test_rollout_is_its_steps(state):
    sim, q, u = state
    x, of = q, ft.torch.step(sim)
    for _ in range(3):
        x = of(x, u).q_next
    by_steps = torch.autograd.grad(x.sum(), u)[0]
    made = ft.torch.rollout(sim)(q, u[:, None].repeat(1, 3, 1))
    assert torch.allclose(made.q[:, -1], x, atol=1e-9)
    assert torch.allclose(torch.autograd.grad(made.q[:, -1].sum(), u)[0], by_steps, atol=1e-6)


def test_single_precision_and_one_world(state):
    sim, q, u = state
    q, u = q.detach()[0].float(), u.detach()[0].float().requires_grad_()
    made = ft.torch.step(sim)(q, u)
    assert made.q_next.dtype == torch.float32 and made.q_next.shape == q.shape
    made.q_next.sum().backward()
    assert u.grad.dtype == torch.float32 and u.grad.shape == u.shape


@pytest.mark.parametrize("power", [1, 2])
def test_second_derivatives_raise(state, power):
    sim, q, u = state
    made = ft.torch.step(sim)(q, u)
    (first,) = torch.autograd.grad((made.q_next**power).sum(), u, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives are not available"):
        (first.sum() + u.sum()).backward()


def test_a_changed_input_raises(state):
    sim, q, u = state
    u = u.detach().clone()
    made = ft.torch.step(sim)(q, u)
    u += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.q_next.sum().backward()


def test_bodies_and_how_they_move():
    """Poses and Jacobians with the numbers and gradients of the plain calls."""
    model = ft.Model.load("leap_cube")
    q = torch.tensor(model.home(2) + 0.01, requires_grad=True)
    names, site = ["cube", "hand/palm"], model.sites[1]
    positions, rotations = ft.torch.body_poses(model, names)(q)
    for made, plain in zip((positions, rotations), model.body_poses(q.detach().numpy(), names), strict=True):
        assert np.array_equal(made.detach(), plain)
    assert torch.autograd.gradcheck(ft.torch.body_poses(model, names), q)
    assert torch.autograd.gradcheck(ft.torch.site_poses(model), q[0])
    assert torch.autograd.gradcheck(ft.torch.jacobian(model, site, [0.01, 0.0, 0.0]), q)
    positions.sum().backward()
    assert np.array_equal(q.grad, model.body_poses_vjp(q.detach().numpy(), names, position_bar=np.ones((2, 2, 3))))
    single = ft.torch.jacobian(model, site)(q.detach()[0].float())
    assert single.dtype == torch.float32 and single.shape == (6, model.nv)
    with pytest.raises(RuntimeError, match="second derivatives are not available"):
        (slope,) = torch.autograd.grad(ft.torch.body_poses(model)(q)[0].sum(), q, create_graph=True)
        slope.sum().backward()


def test_one_stands_for_all_worlds(state):
    sim, q, u = state
    mass = torch.tensor([[0.4], [0.5]], dtype=torch.float64)
    step, rollout = ft.torch.step(sim), ft.torch.rollout(sim)
    both = lambda x: x[:1].repeat(2, *[1] * (x.ndim - 1))
    one = u[0].detach().requires_grad_()
    made = step(q, one)
    assert torch.equal(made.q_next, step(q, both(u)).q_next)
    made.q_next.sum().backward()
    expected = sim.vjp(q.detach().numpy(), both(u).detach().numpy(), q_next_bar=np.ones(q.shape)).u.sum(0)
    assert np.allclose(one.grad, expected, rtol=1e-12)
    assert torch.equal(step(q[0], u).q_next, step(both(q), u).q_next)
    assert torch.equal(step(q[0], u[0], mass=mass).q_next, step(both(q), both(u), mass=mass).q_next)
    own = ft.torch.step(sim.with_params(mass=mass.numpy()))
    assert torch.equal(own(q[0], u[0]).q_next, step(both(q), both(u), mass=mass).q_next)
    assert step(q[0], u[0], mass=mass[:1]).q_next.shape == q[0].shape
    steps = u[:, None].repeat(1, 3, 1)
    assert torch.equal(rollout(q, steps[:1]).q, rollout(q, both(steps)).q)
    assert torch.equal(rollout(q[0], steps).q, rollout(both(q), steps).q)
    with pytest.raises(ft.Error, match="u: expected shape"):
        step(q, u[:, :20])
    with pytest.raises(ft.Error, match=r"u: expected shape \(2, T, 21\), or \(1, T, 21\) for all worlds, got \(2, 21\)"):
        rollout(q, u)
