"""The step on a device: on the CPU by DLPack, and on a GPU or `cuda/emulate` where the package is built for one."""

import ctypes
import gc

import numpy as np
import pytest
from conftest import near_home

import fingertip as ft
from fingertip import _fingertip

WORLDS, STEPS = 5, 3


@pytest.fixture(scope="module")
def given(push):
    """A step, its states, commands and cotangents, and parameters of each world."""
    random = np.random.default_rng(7)
    q, u = near_home(push, WORLDS)
    mass = push.params["mass"]
    sim = ft.Quasidynamic(push, mass=mass * random.uniform(0.8, 1.2, (WORLDS, mass.shape[1])))
    commands = u[:, None] + 1e-2 * random.standard_normal((WORLDS, STEPS, push.nu))
    like = lambda *shape: random.standard_normal((WORLDS, *shape))
    bars = {"q_next_bar": like(push.nq), "force_bar": like(push.nc, 3), "phi_bar": like(push.nc)}
    return sim, q, u, commands, bars, {"q_bar": like(STEPS + 1, push.nq), "force_bar": like(STEPS, push.nc, 3)}


def compared(given, device, lent, read):
    """All calls on a device, with what `lent` makes of arrays, against numpy's."""
    sim, q, u, commands, bars, bars_over_time = given
    there = sim.on(device)
    own, step = sim.step(q, u), there.step(lent(q), lent(u))
    for name in ("q_next", "delta", "force", "torque", "phi", "warm"):
        assert np.array_equal(read(getattr(step, name)), getattr(own, name)), name
    assert np.array_equal(step.status, own.status) and step.ok.all()
    assert np.array_equal(step.iterations, own.iterations)
    again = there.step(lent(q), lent(u), step.warm)
    assert np.array_equal(read(again.q_next), sim.step(q, u, own.warm).q_next)

    lend_all = lambda arrays: {name: lent(array) for name, array in arrays.items()}
    same(sim.vjp(q, u, **bars), there.vjp(lent(q), lent(u), **lend_all(bars)), read)

    rollout, steps = sim.rollout(q, commands), there.rollout(lent(q), lent(commands))
    for name in ("q", "force", "torque"):
        assert np.array_equal(read(getattr(steps, name)), getattr(rollout, name)), name
    assert np.array_equal(steps.status, rollout.status) and steps.status.shape == (WORLDS, STEPS)
    expected = sim.rollout_vjp(commands, rollout, **bars_over_time)
    same(expected, there.rollout_vjp(lent(commands), steps, **lend_all(bars_over_time)), read)

    expected, linear = sim.linearize(q, u), there.linearize(lent(q), lent(u))
    for name in "ABCD":
        assert np.allclose(read(getattr(linear, name)), getattr(expected, name), rtol=1e-12, atol=1e-12), name

    other = there.with_params(mu=0.3)
    assert np.array_equal(read(other.step(lent(q), lent(u)).q_next), sim.with_params(mu=0.3).step(q, u).q_next)
    mass = 0.9 * sim.params["mass"]
    heavy = there.with_params(mass=lent(mass)).step(lent(q), lent(u))
    assert np.array_equal(read(heavy.q_next), sim.with_params(mass=mass).step(q, u).q_next)


def same(expected, gradient, read):
    """Candle adds a gradient's parts in another order than the plain calls."""
    by_name = {"q": expected.q, "u": expected.u, **expected.params}
    found = {"q": gradient.q, "u": gradient.u, **gradient.params}
    assert by_name.keys() == found.keys()
    for name, array in by_name.items():
        close = np.allclose(read(found[name]), array, rtol=1e-11, atol=1e-11 * max(1.0, np.abs(array).max(initial=0.0)))
        assert found[name].shape == array.shape and close, name


def test_on_the_cpu(given):
    compared(given, "cpu", lambda array: array, np.from_dlpack)
    there, (_, q, u, *_) = given[0].on("cpu"), given
    step = there.step(q, u)
    assert step.q_next.__dlpack_device__() == (1, 0) and step.q_next.shape == q.shape
    # A result goes in as it is.
    assert np.array_equal(there.step(step.q_next, u).q_next.numpy(), given[0].step(step.q_next.numpy(), u).q_next)


def test_one_world(hand):
    sim, q, u = ft.Quasidynamic(hand), hand.home(), hand.control(0.1)
    there = sim.on("cpu")
    step = there.step(q, u)
    assert step.q_next.shape == (hand.nq,) and step.status.shape == ()
    assert np.array_equal(step.q_next.numpy(), sim.step(q, u).q_next)
    steps = there.rollout(q, [u, u])
    assert steps.q.shape == (3, hand.nq) and steps.ok.shape == (2,)
    assert there.vjp(q, u, q_next_bar=q).u.shape == (hand.nu,)


def test_arrays_outlive_what_made_them(given):
    _, q, u, *_ = given
    expected = given[0].step(q, u).q_next
    kept = np.from_dlpack(given[0].on("cpu").step(q, u).q_next)
    unread = given[0].on("cpu").step(q, u).q_next.__dlpack__()
    gc.collect()
    assert np.array_equal(kept, expected)
    del unread
    array = given[0].on("cpu").step(q, u).q_next
    for more in ({"copy": True}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError, match="DLPack: expected no copy and the device"):
            array.__dlpack__(**more)


class OnGpu:
    """What says that it is on a GPU."""

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **_):
        raise AssertionError("nobody should ask")


def test_messages(given):
    sim, q, u, commands, *_ = given
    there = sim.on("cpu")
    refused = lambda says: pytest.raises(ft.Error, match=says)
    with refused("device: expected \"cpu\", \"cuda\" or \"cuda:N\", got \"gpu\""):
        sim.on("gpu")
    with refused(r"q: expected shape \(B, .*\) with B ≥ 1"):
        there.step(u[:, :1], u)
    with refused("q: expected 5 worlds, as the parameters have, got 2"):
        there.step(q[:2], u[:2])
    with refused(r"u: expected shape \(5, .*\), got"):
        there.step(q, q[:, :1])
    with refused(r"u: expected shape \(5, T, .*\), got"):
        there.rollout(q, u)
    with refused("rollout: expected a result of this object"):
        there.rollout_vjp(commands, sim.on("cpu").rollout(q, commands))
    with refused("rollout: expected the rollout under this u, got that under another"):
        there.rollout_vjp(commands + 1e-9, there.rollout(q, commands))
    with refused("there is no parameter \"masss\""):
        there.with_params(masss=1.0)
    with refused("on a GPU; expected"):
        there.step(OnGpu(), u)
    if not _fingertip._CUDA:
        with refused("expected a build with the feature `cuda`, got one without"):
            sim.on("cuda:0")


# What follows lends memory of a GPU as other libraries do, by the driver alone.


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("kind", ctypes.c_int32), ("device", ctypes.c_int32), ("rank", ctypes.c_int32)]
    _fields_ += [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]
    _fields_ += [("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("owner", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


def new_capsule(managed):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(managed), b"dltensor", None)


def pointed(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Managed.from_address(get(capsule, b"dltensor"))


class Driver:
    """CUDA's driver."""

    def __init__(self):
        self.of = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        for code in (self.of.cuInit(0), self.of.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), self.of.cuCtxSetCurrent(context)):
            assert code == 0

    def put(self, array):
        """The address of a copy on the device; it stays."""
        address = ctypes.c_uint64()
        assert self.of.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(1, array.nbytes))) == 0
        if array.nbytes:
            assert self.of.cuMemcpyHtoD_v2(address, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)) == 0
        return address.value

    def get(self, address, shape, kind=np.float64):
        array = np.empty(shape, kind)
        if array.nbytes:
            to = array.ctypes.data_as(ctypes.c_void_p)
            assert self.of.cuMemcpyDtoH_v2(to, ctypes.c_uint64(address), ctypes.c_size_t(array.nbytes)) == 0
        return array

    def read(self, array):
        """Another library's look at an array of ours."""
        assert array.__dlpack_device__() == (2, 0)
        capsule = array.__dlpack__(stream=1)
        tensor = pointed(capsule).tensor
        assert (tensor.kind, tensor.device, tensor.code, tensor.bits, tensor.lanes) == (2, 0, 2, 64, 1) and not tensor.strides
        return self.get(tensor.data + tensor.offset if tensor.data else 0, tuple(tensor.shape[: tensor.rank]))


class Lent:
    """Another library's array on a GPU."""

    def __init__(self, driver, array, device=0, strides=None):
        array = np.ascontiguousarray(array)
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(*strides) if strides else None
        code, bits = {"f": 2, "i": 0}[array.dtype.kind], 8 * array.itemsize
        # 16 bytes of something else lie before it.
        address = driver.put(np.concatenate([np.full(16, 255, np.uint8), array.reshape(-1).view(np.uint8)]))
        tensor = Tensor(address, 2, device, array.ndim, code, bits, 1, self.shape, self.strides, 16)
        self.managed, self.streams = Managed(tensor, None, None), []

    def __dlpack_device__(self):
        return 2, self.managed.tensor.device

    def __dlpack__(self, *, stream):
        self.streams.append(stream)
        return new_capsule(self.managed)


@pytest.fixture(scope="module")
def driver():
    if not _fingertip._CUDA:
        pytest.skip("the package is built without the feature cuda")
    return Driver()


def test_on_a_gpu(given, driver):
    compared(given, "cuda:0", lambda array: Lent(driver, array), driver.read)


def test_single_precision_and_streams(given, driver):
    sim, q, u, *_ = given
    q32 = q.astype(np.float32)
    lent = Lent(driver, q32)
    made = sim.on("cuda:0").step(lent, u)
    assert np.array_equal(driver.read(made.q_next), sim.step(q32, u).q_next)
    assert len(lent.streams) == 1 and isinstance(lent.streams[0], int) and lent.streams[0] > 0


def test_only_reports_come_to_the_host(given, driver):
    """Counted by the emulated driver."""
    if not hasattr(driver.of, "emulated_copied"):
        pytest.skip("not on the emulated driver")
    driver.of.emulated_copied.restype = ctypes.c_size_t
    sim, q, u, *_ = given
    there, q, u = sim.on("cuda:0"), Lent(driver, q), Lent(driver, u)
    there.step(q, u)
    before = driver.of.emulated_copied()
    made = there.step(q, u)
    # A report has four numbers.
    assert driver.of.emulated_copied() - before <= 4 * 8 * WORLDS
    before = driver.of.emulated_copied()
    there.vjp(q, u, q_next_bar=made.q_next)
    assert driver.of.emulated_copied() - before <= 4 * 8 * WORLDS


def test_messages_of_a_gpu(given, driver):
    sim, q, u, *_ = given
    there = sim.on("cuda:0")
    refused = lambda says: pytest.raises(ft.Error, match=says)
    with refused("q: expected numbers of float64 or float32, got 64 bits of DLPack's kind 0"):
        there.step(Lent(driver, q.astype(np.int64)), u)
    with refused("u: expected an array on cuda:0, got one on cuda:1"):
        there.step(q, Lent(driver, u, device=1))
    with refused("q: expected an array that lies row after row, got one with strides"):
        there.step(Lent(driver, q, strides=(1, WORLDS)), u)


class Api(ctypes.Structure):
    """XLA_FFI_Api, as far as it is used."""

    _fields_ = [("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("version", ctypes.c_byte * 24), ("internal", ctypes.c_void_p)]
    _fields_ += [(name, ctypes.c_void_p) for name in ("error_create", "message", "destroy", "register", "stream_get")]


class Buffer(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("kind", ctypes.c_int), ("data", ctypes.c_void_p)]
    _fields_ += [("rank", ctypes.c_int64), ("dims", ctypes.POINTER(ctypes.c_int64))]


class Buffers(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("n", ctypes.c_int64), ("kinds", ctypes.c_void_p)]
    _fields_ += [("items", ctypes.POINTER(ctypes.POINTER(Buffer)))]


class Scalar(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("value", ctypes.POINTER(ctypes.c_int64))]


class Attributes(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("n", ctypes.c_int64)]
    _fields_ += [("kinds", ctypes.POINTER(ctypes.c_int)), ("names", ctypes.c_void_p), ("items", ctypes.POINTER(ctypes.POINTER(Scalar)))]


class Frame(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("api", ctypes.POINTER(Api)), ("context", ctypes.c_void_p)]
    _fields_ += [("stage", ctypes.c_int), ("arguments", Buffers), ("results", Buffers), ("attributes", Attributes)]


ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def call(driver, function, arguments, results):
    """What XLA does: calls the handler on buffers of the device. Results by their shapes, the last one bytes if it is of statuses."""
    asked, messages = [], []

    @ERROR
    def stream_get(_arguments):  # leaves the stream that is there without being made
        asked.append(True)

    @ERROR
    def error_create(arguments):
        # struct_size, extension, message
        messages.append(ctypes.string_at(ctypes.c_void_p.from_address(arguments + 16).value).decode())
        return 1

    pointer = lambda of: ctypes.cast(of, ctypes.c_void_p).value
    api = Api(error_create=pointer(error_create), stream_get=pointer(stream_get))

    def buffers(all):
        made = [
            Buffer(0, None, {"f": 12, "u": 6}[x.dtype.kind], driver.put(x), x.ndim, (ctypes.c_int64 * x.ndim)(*x.shape)) for x in all
        ]
        items = (ctypes.POINTER(Buffer) * len(made))(*map(ctypes.pointer, made))
        return made, Buffers(0, None, len(made), None, items)

    (_, given), (made, taken) = buffers(arguments), buffers(results)
    number = Scalar(5, ctypes.pointer(ctypes.c_int64(function)))
    attributes = Attributes(0, None, 1, (ctypes.c_int * 1)(3), None, (ctypes.POINTER(Scalar) * 1)(ctypes.pointer(number)))
    frame = Frame(0, None, ctypes.pointer(api), None, 3, given, taken, attributes)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    ERROR(get(_fingertip._xla_handler(), b"xla._CUSTOM_CALL_TARGET"))(ctypes.addressof(frame))
    if messages:
        raise RuntimeError(messages[0])
    assert asked
    return [driver.get(buffer.data, x.shape, x.dtype) for buffer, x in zip(made, results, strict=True)]


def test_jaxs_functions_on_a_gpu(given, driver):
    """The handler on frames as XLA makes them: q of all worlds, u the same in all, a mass of each."""
    sim, q, u, commands, _, bars = given
    mass, model = sim.params["mass"], sim.model
    plain = sim.with_params(mass=mass[:1])
    function = lambda kind: _fingertip._xla_function(plain, kind, ["mass"], plain.on("cuda:0"))
    empty = lambda *shape: np.zeros((WORLDS, *shape))
    statuses = lambda *shape: np.full((WORLDS, *shape), 9, np.uint8)

    nq, nu, nc, nt = model.nq, model.nu, model.nc, model.n_lambda - 3 * model.nc
    results = [empty(nq), empty(nc, 3), empty(nt), empty(nc), statuses()]
    made, own = call(driver, function("step"), [q, u[:1], mass], results), sim.step(q, np.repeat(u[:1], WORLDS, 0))
    for array, name in zip(made, ("q_next", "force", "torque", "phi", "status"), strict=True):
        assert np.array_equal(array, getattr(own, name)), name

    results = [empty(STEPS + 1, nq), empty(STEPS, nc, 3), statuses(STEPS)]
    made, own = call(driver, function("rollout"), [q, commands, mass], results), sim.rollout(q, commands)
    for array, name in zip(made, ("q", "force", "status"), strict=True):
        assert np.array_equal(array, getattr(own, name)), name

    results = [empty(nq), empty(STEPS, nu), empty(mass.shape[1])]
    made = call(driver, function("rollout_vjp"), [q, commands, mass, *bars.values()], results)
    own = sim.rollout_vjp(commands, own, **bars)
    for array, expected in zip(made, (own.q, own.u, own.params["mass"]), strict=True):
        assert np.allclose(array, expected, rtol=1e-11, atol=1e-11)

    bar = np.ones((WORLDS, nq))
    arguments = [q, u, mass, bar, empty(nc, 3), empty(nt), empty(nc)]
    made, own = call(driver, function("step_vjp"), arguments, [empty(nq), empty(nu), empty(mass.shape[1])]), sim.vjp(q, u, q_next_bar=bar)
    for array, expected in zip(made, (own.q, own.u, own.params["mass"]), strict=True):
        assert np.allclose(array, expected, rtol=1e-11, atol=1e-11)

    with pytest.raises(RuntimeError, match="fingertip: expected more arguments"):
        call(driver, function("step"), [q], results)
