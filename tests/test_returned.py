"""Results in float32, and tensors for tensors."""

import sys
from types import ModuleType

import numpy as np
import pytest

import broadphase as bp
from broadphase.returned import is_tensor

RNG = np.random.default_rng(0)
PLACES = RNG.random((600, 2)) * 9
BOXES = np.stack([PLACES, PLACES + 0.3], axis=1)


class Tensor:
    """A tensor as torch has it: memory that is shared by DLPack and by `__array__`."""

    __module__ = "torch"

    def __init__(self, array):
        self.array, self.requires_grad, self.dtype = array, False, f"torch.{array.dtype}"
        self.ndim, self.shape = array.ndim, array.shape

    def __len__(self):
        return len(self.array)

    def __getitem__(self, at):
        return Tensor(self.array[at])

    def __int__(self):
        return int(self.array)

    def __sub__(self, other):
        return Tensor(self.array - other.array)

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


@pytest.fixture(autouse=True)
def torch(monkeypatch):
    """Stand in for torch, which need not be installed."""
    made = ModuleType("torch")
    made.from_numpy = Tensor
    monkeypatch.setitem(sys.modules, "torch", made)


def arrays_of(found):
    """Give all arrays of a result."""
    if isinstance(found, tuple):
        return [array for part in found for array in arrays_of(part)]
    if hasattr(found, "offsets"):
        return [getattr(found, name) for name in type(found).__slots__]
    return [found] if isinstance(found, np.ndarray | Tensor) else []


def searchers():
    index, world = bp.Index(BOXES), bp.World(dim=2)
    world.add_many(bp.Circle(0.2), PLACES)
    return index, world


def calls():
    """Give each call as a function of its array, and that array."""
    index, world = searchers()
    corners, ways = BOXES[:20], np.tile([1.0, 0.5], (20, 1))
    found = [
        ("pairs", bp.pairs, BOXES),
        ("pairs with capacity", lambda given: bp.pairs(given, capacity=9), BOXES),
        ("pairs of corners", lambda given: bp.pairs((given, given)), PLACES),
        ("neighbors", lambda given: bp.neighbors(given, 0.5, full=True, distances=True, vectors=True), PLACES),
        ("padded neighbors", lambda given: bp.neighbors(given, 0.5, full=True, distances=True).padded(3), PLACES),
        ("neighbor list", lambda given: bp.NeighborList(0.5, skin=0.1).update(given), PLACES),
        ("lidar", lambda given: world.lidar(given, [0.0, 1.0, 2.0], max_distance=3), np.arange(9)),
        ("shapecast of boxes", lambda given: index.shapecast(given, [1.0, 0.0]), corners),
        ("query_shape", lambda given: world.query_shape(bp.Circle(1), given), PLACES[:9]),
        ("shapecast", lambda given: world.shapecast(bp.Circle(1), given, [1, 0]), PLACES[:9]),
    ]
    for name, one in (("index", index), ("world", world)):
        found += [
            (f"{name}.query", one.query, corners),
            (f"{name}.query_points", one.query_points, PLACES),
            (f"{name}.query_ball", lambda given, one=one: one.query_ball(given, 0.5), PLACES),
            (f"{name}.query_ball.padded", lambda given, one=one: one.query_ball(given, 0.5).padded(2), PLACES),
            (f"{name}.query_obb", lambda given, one=one: one.query_obb(given, 0.5, 0.1), PLACES[:9]),
            (f"{name}.nearest", lambda given, one=one: one.nearest(given, 3), PLACES),
            (f"{name}.nearest of rows", lambda given, one=one: one.nearest(rows=given, k=3), np.arange(9)),
            (f"{name}.nearest of one", lambda given, one=one: one.nearest(given, 3), PLACES[0]),
            (f"{name}.raycast", lambda given, one=one: one.raycast(given, ways, 5.0), PLACES[:20]),
            (f"{name}.raycast_any", lambda given, one=one: one.raycast_any(given, ways), PLACES[:20]),
            (f"{name}.raycast_all", lambda given, one=one: one.raycast_all(given, ways), PLACES[:20]),
            (f"{name}.raycast_all.padded", lambda given, one=one: one.raycast_all(given, ways).padded(2), PLACES[:20]),
        ]
    return found


@pytest.mark.parametrize(("call", "given"), [pytest.param(*rest, id=name) for name, *rest in calls()])
def test_tensors_are_returned_for_tensors_and_hold_what_arrays_do(call, given):
    arrays, tensors = arrays_of(call(given)), arrays_of(call(Tensor(given)))
    assert len(arrays) == len(tensors) > 0
    for array, tensor in zip(arrays, tensors, strict=True):
        assert type(tensor) is Tensor
        assert tensor.array.dtype == array.dtype
        np.testing.assert_array_equal(tensor.array, array)


def test_results_of_tensors_are_sequences_too():
    index, _ = searchers()
    found, expected = index.query_ball(Tensor(PLACES), 0.5), index.query_ball(PLACES, 0.5)
    np.testing.assert_array_equal(found[7].array, expected[7])
    np.testing.assert_array_equal(found.counts.array, expected.counts)
    np.testing.assert_array_equal(found.query_rows.array, expected.query_rows)
    hits, plain = index.raycast_all(Tensor(PLACES), [1, 0]), index.raycast_all(PLACES, [1, 0])
    for part, other in zip(hits[3], plain[3], strict=True):
        np.testing.assert_array_equal(part.array, other)


def test_what_is_asked_about_decides_and_not_the_options():
    index, world = searchers()
    keys, ways = Tensor(np.zeros(20, int)), Tensor(np.tile([1.0, 0.5], (20, 1)))
    assert type(index.raycast(PLACES[:20], ways, batch=keys).rows) is np.ndarray
    assert type(index.raycast(Tensor(PLACES[:20]), [1, 0], 5.0, ignore=np.arange(20)).rows) is Tensor
    assert type(bp.pairs(BOXES, Tensor(BOXES))) is np.ndarray
    assert type(bp.pairs(Tensor(BOXES), BOXES)) is Tensor
    assert index.raycast(Tensor(PLACES[0]), [1, 0]) == index.raycast(PLACES[0], [1, 0])  # numbers
    assert isinstance(world.raycast(Tensor(PLACES[0]), [1, 0]), bp.world.Hit)
    assert bp.count_pairs(Tensor(BOXES)) == bp.count_pairs(BOXES)


def test_tensor_is_told_by_the_module_of_its_class():
    class Plain:
        pass

    assert is_tensor(Tensor(BOXES))
    assert is_tensor((Tensor(PLACES), Tensor(PLACES)))
    assert is_tensor([Tensor(BOXES)])
    for given in (BOXES, (PLACES, PLACES), [], (), 5, None, [[1, 2]], Plain()):
        assert not is_tensor(given)


def test_float32_is_float64_rounded_once():
    index, world = searchers()
    ways = np.array([1.0, 0.25])
    for one in (index, world):
        for call in (
            lambda dtype, one=one: one.nearest(PLACES, 4, 3.0, dtype=dtype),
            lambda dtype, one=one: one.nearest(rows=np.arange(9), k=700, dtype=dtype),
            lambda dtype, one=one: one.nearest(PLACES[0], 4, dtype=dtype),
            lambda dtype, one=one: one.raycast(PLACES, ways, 4.0, dtype=dtype),
            lambda dtype, one=one: one.raycast_all(PLACES, ways, dtype=dtype),
            lambda dtype, one=one: one.raycast_all(PLACES, ways, dtype=dtype).padded(2),
        ):
            check_rounded(call)
    check_rounded(lambda dtype: bp.neighbors(PLACES, 0.5, full=True, distances=True, vectors=True, dtype=dtype))
    check_rounded(lambda dtype: bp.neighbors(PLACES, 0.5, full=True, distances=True, dtype=dtype).padded(3))
    check_rounded(lambda dtype: index.raycast_all(PLACES[0], ways, dtype=dtype))
    assert index.raycast(PLACES[0], ways, dtype=np.float32) == index.raycast(PLACES[0], ways)
    assert isinstance(world.raycast(PLACES[0], ways, dtype=np.float32), bp.world.Hit)


def check_rounded(call):
    whole, single = arrays_of(call(np.float64)), arrays_of(call("float32"))
    assert any(array.dtype == np.float32 for array in single)
    for array, rounded in zip(whole, single, strict=True):
        assert rounded.dtype == (np.float32 if array.dtype == np.float64 else array.dtype)
        np.testing.assert_array_equal(rounded, array.astype(rounded.dtype))


def test_float32_has_infinity_for_what_is_beyond_it():
    index = bp.BVH([[1e200, 0, 1e200, 1], [3, 0, 4, 1]])
    with np.errstate(all="raise"):
        assert index.nearest([[0, 0]], 2, dtype=np.float32).distances.tolist() == [[3, np.inf]]


@pytest.mark.parametrize("bad", ["float16", "int32", int, 5, "nothing"])
def test_other_dtypes_are_refused(bad):
    index, world = searchers()
    for call in (
        lambda: index.nearest(PLACES, dtype=bad),
        lambda: index.nearest(PLACES[0], dtype=bad),
        lambda: world.raycast(PLACES, [1, 0], dtype=bad),
        lambda: index.raycast_all(PLACES, [1, 0], dtype=bad),
        lambda: bp.neighbors(PLACES, 1.0, dtype=bad),
        lambda: world.lidar([0], [0.0], dtype=bad),
    ):
        with pytest.raises(TypeError, match="dtype must be float64 or float32"):
            call()
