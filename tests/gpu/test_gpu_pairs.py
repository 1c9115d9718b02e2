"""Pairs on a device: the kernels on Warp's CPU device, against the CPU's core and the oracle."""

import threading

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, make_scene, oracle
from cases import DTYPES, FOR_CUDA, ON_DEVICE, SCENES_ON_DEVICE, lattice, run_script

wp = pytest.importorskip("warp", reason="NVIDIA Warp is not installed: pip install 'broadphase[gpu]'")

from broadphase import gpu  # noqa: E402
from broadphase.gpu import explanation, loading, searches  # noqa: E402
from broadphase.gpu.pairs_kernels import pairs_kernels  # noqa: E402
from broadphase.gpu.tree_kernels import tree_kernels  # noqa: E402

WAYS = ("tree", "scenes")


def force(monkeypatch, way):
    """Let all boxes be searched by a tree, or all be compared one by one."""
    monkeypatch.setattr(searches, "SMALL_SCENE", 0 if way == "tree" else 2**30)
    monkeypatch.setattr(searches, "FEW_TESTS", 0)


def check(boxes, other=None, *, label="", **options):
    """Compare pairs, sorted pairs and their number with the CPU's core."""
    expected = bp.pairs(boxes, other, sort=True, **options)
    found = gpu.pairs(boxes, other, device="cpu", **options)
    assert found.dtype == np.int32, label
    assert_same_pairs(found, expected, label)
    assert np.array_equal(gpu.pairs(boxes, other, device="cpu", sort=True, **options), expected), label
    options.pop("max_pairs", None)
    assert gpu.count_pairs(boxes, other, device="cpu", **options) == len(expected), label
    return expected


def options_of(rng, n, m=None):
    """Draw one value of each option for one set of n boxes, or for two of n and m."""

    def drawn(make):
        return make(n) if m is None else (make(n), make(m))

    return {
        "touching": False,
        "margin": 0.5,
        "layer": drawn(lambda k: rng.integers(0, 2**63, k, dtype=np.uint64) * 2),
        "mask": drawn(lambda k: rng.integers(0, 4, k) - 1),
        "group": drawn(lambda k: rng.integers(-2, 3, k).astype(np.int8)),
        "static": drawn(lambda k: rng.random(k) < 0.6),
        "ignore_shared": drawn(lambda k: rng.integers(0, 12, (k, 2))),
    }


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCENES_ON_DEVICE)
def test_gpu_pairs_of_every_scene_equal_those_of_the_core(name, dtype, monkeypatch):
    force(monkeypatch, "tree")
    boxes = make_scene(name, 400, dtype=dtype)
    check(boxes, label=name)
    check(boxes[:90], boxes[90:], label=name)
    check(boxes[90:], boxes[:90], label=name)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", ON_DEVICE)
def test_gpu_options_equal_those_of_the_oracle(dimension, dtype, way, monkeypatch):
    force(monkeypatch, way)
    rng = np.random.default_rng(dimension)
    reach = {2: 9, 3: 4}[dimension]
    boxes, other = (lattice(rng, n, dimension, dtype, reach) for n in (120, 75))
    one, two = options_of(rng, 120), options_of(rng, 120, 75)
    for names in ([], *([name] for name in one), ["touching", "margin"], ["layer", "mask", "group"], list(one)):
        where = f"d={dimension} {dtype} {way} {names}"
        chosen = {name: one[name] for name in names}
        expected = oracle.pairs(boxes, **chosen)
        assert_same_pairs(gpu.pairs(boxes, device="cpu", **chosen), expected, where)
        chosen = {name: two[name] for name in names}
        expected = oracle.pairs(boxes, other, **chosen)
        assert_same_pairs(gpu.pairs(boxes, other, device="cpu", **chosen), expected, where)
        assert gpu.count_pairs(boxes, other, device="cpu", **chosen) == len(expected), where


@pytest.mark.parametrize("value", [0, 5, -1, 2**64 - 1, np.int32(3)])
def test_gpu_options_of_one_value_hold_for_all_boxes(value):
    boxes = lattice(np.random.default_rng(1), 60, 2, "float32")
    check(boxes, layer=value)
    check(boxes, mask=value, layer=np.arange(60))
    check(boxes[:20], boxes[20:], mask=(None, value), layer=(np.arange(20), 7))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 31, 32, 33])
def test_gpu_pairs_of_few_boxes_equal_those_of_the_core(n, way, monkeypatch):
    force(monkeypatch, way)
    rng = np.random.default_rng(n)
    for dtype in DTYPES:
        boxes = lattice(rng, n, 3, dtype, 2)
        check(boxes)
        for m in (0, 1, 2, 33):
            check(boxes, lattice(rng, m, 3, dtype, 2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 7, 60])
@pytest.mark.parametrize("way", WAYS)
def test_gpu_scenes_of_one_size_equal_those_of_the_core(way, size, dtype, monkeypatch):
    force(monkeypatch, way)
    rng = np.random.default_rng(size)
    for dimension in (2, 3):
        boxes = lattice(rng, 30 * size, dimension, dtype, 3).reshape(30, size, 2, dimension)
        other = lattice(rng, 30 * 11, dimension, dtype, 3).reshape(30, 11, 2, dimension)
        check(boxes, label=f"{way} {size}")
        check(boxes, touching=False, mask=rng.integers(0, 4, 30 * size))
        check(boxes, other)
        check(other, boxes)
        check((boxes[:, :, 0], boxes[:, :, 1]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_gpu_uneven_batches_equal_those_of_the_core(dtype):
    rng = np.random.default_rng(3)
    names = np.array([-(2**63), -5, 0, 1, 2, 3, 2**40, 2**63 - 1])
    keys = rng.permutation(np.repeat(names, [40, 1, 2, 300, 0, 7, 33, 90]))
    others = rng.permutation(np.repeat(names, [3, 60, 2, 200, 5, 0, 1, 90]))
    for dimension in ON_DEVICE:
        boxes = lattice(rng, len(keys), dimension, dtype, 5)
        other = lattice(rng, len(others), dimension, dtype, 5)
        check(boxes, batch=keys)
        check(boxes, batch=keys % 7, group=rng.integers(-1, 2, len(keys)))
        check(boxes, other, batch=(keys, others))
        check(boxes, other, batch=(1, others))
    check(boxes, batch=4)
    check(boxes, batch=np.arange(len(boxes)))
    sized = boxes[:60].reshape(20, 3, 2, 3)
    check(sized, other, batch=(None, others % 20))


def test_gpu_batches_of_a_million_groups_of_one_have_no_pairs():
    boxes = np.zeros((10**6, 1, 2, 2), np.float32)
    assert gpu.count_pairs(boxes, device="cpu") == 0


@pytest.mark.parametrize("capacity", [0, 1, 500, 10_000])
@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_gpu_capacity_pads_the_pairs_and_tells_the_true_number(way, sort, capacity, monkeypatch):
    force(monkeypatch, way)
    boxes = make_scene("uniform", 400)
    expected = bp.pairs(boxes, sort=True)
    for room in {capacity, len(expected) - 1, len(expected), len(expected) + 1}:
        found, count = gpu.pairs(boxes, device="cpu", capacity=room, sort=sort)
        kept = min(room, len(expected))
        assert found.shape == (room, 2)
        assert int(count) == len(expected)
        assert (found[kept:] == -1).all()
        if room >= len(expected):
            assert_same_pairs(found[:kept], expected)
            assert not sort or np.array_equal(found[:kept], expected)
        else:
            known = {tuple(pair) for pair in expected.tolist()}
            assert {tuple(pair) for pair in found.tolist()} <= known
            assert len({tuple(pair) for pair in found.tolist()}) == kept


def test_gpu_capacity_of_two_sets_and_batches_equals_that_of_the_core():
    rng = np.random.default_rng(0)
    boxes, other = (lattice(rng, n, 2, "float64", 6) for n in (200, 90))
    keys = rng.integers(0, 3, 200), rng.integers(0, 3, 90)
    expected = bp.pairs(boxes, other, batch=keys, sort=True)
    found = gpu.pairs(boxes, other, batch=keys, device="cpu", capacity=5000, sort=True)
    assert np.array_equal(found.pairs[: len(expected)], expected)
    padded = bp.pairs(boxes, other, batch=keys, sort=True, capacity=5000)
    assert np.array_equal(found.pairs, padded.pairs)
    assert found.count == padded.count


def test_gpu_max_pairs_raises_above_the_limit_only():
    boxes = make_scene("uniform", 300)
    total = bp.count_pairs(boxes)
    assert len(gpu.pairs(boxes, device="cpu", max_pairs=total)) == total
    with pytest.raises(bp.errors.TooManyPairsError, match=f"max_pairs={total - 1}"):
        gpu.pairs(boxes, device="cpu", max_pairs=total - 1)
    with pytest.raises(ValueError, match="give one"):
        gpu.pairs(boxes, device="cpu", max_pairs=1, capacity=1)


@pytest.mark.parametrize("way", WAYS)
def test_gpu_search_past_max_pairs_ends_early(way, monkeypatch):
    force(monkeypatch, way)
    boxes = np.zeros((3000, 2, 3), np.float32)  # 4,498,500 pairs
    given = []
    kept = searches.Search.total
    monkeypatch.setattr(searches.Search, "total", lambda search: given.append(kept(search)) or given[-1])
    with pytest.raises(bp.errors.TooManyPairsError):
        gpu.pairs(boxes, device="cpu", max_pairs=10)
    assert 10 < given[0] < 10_000
    check(boxes[:300], max_pairs=44850)


def test_gpu_pairs_beyond_the_room_at_first_are_found_all(monkeypatch):
    monkeypatch.setattr(searches, "ROOM", 0)
    gpu.release()
    boxes = np.zeros((300, 2, 3), np.float32)
    for way in WAYS:
        force(monkeypatch, way)
        check(boxes)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_gpu_invalid_boxes_raise_the_error_of_the_core(dtype, way, monkeypatch):
    force(monkeypatch, way)
    good = make_scene("uniform", 50, dtype=dtype)
    for row, corner, value in ((0, 0, np.nan), (17, 1, np.nan), (49, 0, 5.0), (49, 0, np.inf)):
        boxes = good.copy()
        boxes[row, corner, 1] = value
        boxes[row:, corner, 2] = boxes[row, corner, 1] if row == 17 else boxes[row:, corner, 2]
        for arguments in ((boxes,), (boxes, good), (good, boxes), (boxes[row : row + 1],)):
            with pytest.raises(bp.errors.InvalidBoxError) as expected:
                bp.pairs(*arguments)
            with pytest.raises(bp.errors.InvalidBoxError) as actual:
                gpu.pairs(*arguments, device="cpu")
            assert actual.value.row == expected.value.row
            assert str(expected.value).startswith(str(actual.value))
            with pytest.raises(bp.errors.InvalidBoxError):
                gpu.count_pairs(*arguments, device="cpu")
            told = gpu.pairs(*arguments, device="cpu", capacity=10)
            assert int(told.count) == -1 - expected.value.row
    check(good)


@pytest.mark.parametrize("scale", [2.0**-60, 2.0**60])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gpu_pairs_do_not_change_with_the_scale(dtype, scale, monkeypatch):
    force(monkeypatch, "tree")
    for name in ("lattice", "outliers", "infinite"):
        boxes = make_scene(name, 300, dtype=dtype)
        assert_same_pairs(check(boxes * np.dtype(dtype).type(scale)), bp.pairs(boxes))


@pytest.mark.parametrize("scale", [2.0**-1060, 2.0**-500, 2.0**500, 2.0**1010])
def test_gpu_pairs_at_the_ends_of_doubles_are_those_of_the_core(scale, monkeypatch):
    force(monkeypatch, "tree")
    for name in ("lattice", "very_far", "huge_tiny"):
        check(make_scene(name, 200, dtype="float64") * (scale if name == "lattice" else 1.0))
    check(lattice(np.random.default_rng(0), 200, 3, "float64", 3) * scale)


def test_gpu_results_belong_to_the_caller():
    boxes = make_scene("uniform", 300)
    first = gpu.pairs(boxes, device="cpu")
    kept = first.copy()
    padded = gpu.pairs(boxes, device="cpu", capacity=900)
    gpu.pairs(boxes + 0.1, device="cpu", sort=True)
    gpu.pairs(boxes[:100], device="cpu", capacity=900)
    gpu.release()
    assert np.array_equal(first, kept)
    assert_same_pairs(padded.pairs[: int(padded.count)], kept)


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_gpu_capacity_allocates_only_the_result_and_reads_nothing_back(way, sort, monkeypatch):
    force(monkeypatch, way)
    boxes = make_scene("uniform", 300)
    expected = bp.pairs(boxes, sort=True)
    given = wp.array(boxes, dtype=wp.float32, device="cpu")
    other = wp.array(boxes + 0.05, dtype=wp.float32, device="cpu")
    mask = wp.full(300, -1, dtype=wp.int32, device="cpu")
    options = {"capacity": 2000, "sort": sort, "mask": mask, "margin": 0.01}
    for arguments in ((given,), (given, other)):
        options["mask"] = mask if len(arguments) == 1 else (mask, mask)
        gpu.pairs(*arguments, **options)
        made, empty, read = [], wp.empty, wp.array.numpy

        def counted(*shape, _made=made, _empty=empty, **kind):
            _made.append(shape)
            return _empty(*shape, **kind)

        def refused(array):
            raise AssertionError("read back")

        monkeypatch.setattr(wp, "empty", counted)
        monkeypatch.setattr(wp.array, "numpy", refused)
        found = gpu.pairs(*arguments, **options)
        monkeypatch.setattr(wp, "empty", empty)
        monkeypatch.setattr(wp.array, "numpy", read)
        assert made == [((2000, 2),), ((1,),)]
        assert found.count.numpy()[0] >= len(expected)


def test_gpu_calls_of_threads_do_not_mix():
    scenes = [make_scene("uniform", 500, seed=seed) for seed in range(4)]
    expected = [bp.pairs(boxes, sort=True) for boxes in scenes]
    wrong = []

    def work(k):
        for _ in range(20):
            if not np.array_equal(gpu.pairs(scenes[k], device="cpu", sort=True), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# Forms of arrays ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_gpu_arrays_of_warp_come_back_as_arrays_of_warp(dtype):
    boxes = make_scene("uniform", 200, dtype=dtype)
    kind = wp.float32 if dtype == "float32" else wp.float64
    expected = bp.pairs(boxes, sort=True)
    wide = np.zeros((200, 2, 5), dtype)
    wide[:, :, 1:4] = boxes
    vector = wp.types.vector(length=3, dtype=kind)
    forms = {
        "(n, 2, d)": wp.array(boxes, dtype=kind, device="cpu"),
        "(n, 2 d)": wp.array(boxes.reshape(200, 6), dtype=kind, device="cpu"),
        "(n, 2) of vectors": wp.array(boxes, dtype=vector, device="cpu"),
        "strided": wp.array(wide, dtype=kind, device="cpu")[:, :, 1:4],
        "corners": tuple(wp.array(np.ascontiguousarray(boxes[:, k]), dtype=vector, device="cpu") for k in range(2)),
        "scenes": wp.array(boxes.reshape(1, 200, 2, 3), dtype=kind, device="cpu"),
    }
    for form, given in forms.items():
        found = gpu.pairs(given, sort=True)
        assert isinstance(found, wp.array), form
        assert np.array_equal(found.numpy(), expected), form
        padded = gpu.pairs(given, capacity=len(expected), sort=True)
        assert np.array_equal(padded.pairs.numpy(), expected), form
        assert padded.count.numpy().tolist() == [len(expected)], form


def test_gpu_scenes_that_do_not_follow_each_other_are_copied():
    boxes = make_scene("uniform", 200).reshape(10, 20, 2, 3)
    given = wp.array(boxes, dtype=wp.float32, device="cpu")[:, 3:17]
    assert_same_pairs(gpu.pairs(given).numpy(), bp.pairs(np.ascontiguousarray(boxes[:, 3:17])))


def test_gpu_tensors_of_torch_come_back_as_tensors_of_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    boxes = make_scene("uniform", 300)
    expected = bp.pairs(boxes, sort=True)
    given = torch.from_numpy(boxes)
    found = gpu.pairs(given, sort=True, mask=torch.full((300,), -1))
    assert isinstance(found, torch.Tensor)
    assert found.dtype == torch.int32
    assert np.array_equal(found.numpy(), expected)
    assert np.array_equal(gpu.pairs(given.double(), sort=True).numpy(), expected)
    assert np.array_equal(gpu.pairs((given[:, 0], given[:, 1]), sort=True).numpy(), expected)
    padded = gpu.pairs(given, capacity=1000, sort=True)
    assert padded.count.shape == ()
    assert padded.count.item() == len(expected)
    assert np.array_equal(padded.pairs[: len(expected)].numpy(), expected)
    assert gpu.pairs(given[:0]).shape == (0, 2)
    with pytest.raises(TypeError, match=r"boxes\.detach\(\)"):
        gpu.pairs(given.requires_grad_())
    with pytest.raises(TypeError, match="float32 or float64"):
        gpu.pairs(given.detach().half())
    with pytest.raises(TypeError, match="mask is a ndarray in host memory"):
        gpu.pairs(given.detach(), mask=np.ones(300, np.int64))


def test_gpu_host_memory_takes_what_pairs_takes():
    assert gpu.pairs([[0, 0, 2, 2], [1, 1, 3, 3]], device="cpu").tolist() == [[0, 1]]
    assert gpu.pairs([], device="cpu").shape == (0, 2)
    boxes = np.array([[0, 0, 2, 2], [2, 2, 3, 3]])
    assert gpu.pairs(boxes, device="cpu", touching=True).tolist() == [[0, 1]]
    assert gpu.pairs(boxes.astype(">f4"), device="cpu", layer=[1, 2], mask=[2, 1]).tolist() == [[0, 1]]
    mixed = gpu.pairs(boxes.astype("f4"), boxes + 1e-12, device="cpu", sort=True)
    assert mixed.tolist() == bp.pairs(boxes.astype("f4"), boxes + 1e-12, sort=True).tolist()


# Errors ---------------------------------------------------------------------------------------------------------------


def test_gpu_bad_input_is_named():
    boxes = make_scene("uniform", 10)
    given = wp.array(boxes, dtype=wp.float32, device="cpu")
    cases = [
        (TypeError, "float32 or float64", lambda: gpu.pairs(wp.zeros((4, 2, 3), dtype=wp.int32, device="cpu"))),
        (ValueError, r"shape \(4, 3, 3\)", lambda: gpu.pairs(wp.zeros((4, 3, 3), dtype=wp.float32, device="cpu"))),
        (ValueError, r"shape \(4, 5\)", lambda: gpu.pairs(wp.zeros((4, 5), dtype=wp.float32, device="cpu"))),
        (ValueError, "3 dimensions and other has 2", lambda: gpu.pairs(boxes, boxes[:, :, :2], device="cpu")),
        (TypeError, "both of one library", lambda: gpu.pairs(given, boxes)),
        (TypeError, "mask is a ndarray in host memory", lambda: gpu.pairs(given, mask=np.ones(10, np.int64))),
        (ValueError, r"group has shape \(9,\)", lambda: gpu.pairs(boxes, device="cpu", group=np.zeros(9, int))),
        (TypeError, "static must be bool", lambda: gpu.pairs(boxes, device="cpu", static=np.zeros(10, int))),
        (TypeError, "layer must be integer", lambda: gpu.pairs(boxes, device="cpu", layer=np.zeros(10))),
        (TypeError, "64 bits", lambda: gpu.pairs(boxes, device="cpu", layer=2**64)),
        (ValueError, "give a tuple", lambda: gpu.pairs(boxes, boxes, device="cpu", group=np.zeros(10, int))),
        (ValueError, "leave it out", lambda: gpu.pairs(boxes.reshape(2, 5, 2, 3), device="cpu", batch=boxes)),
        (ValueError, "has 2 batches, and other has 5", lambda: gpu.pairs(
            boxes.reshape(2, 5, 2, 3), boxes.reshape(5, 2, 2, 3), device="cpu")),
        (ValueError, "margin must not be negative", lambda: gpu.pairs(boxes, device="cpu", margin=-1)),
        (ValueError, "leave out such boxes", lambda: gpu.pairs(boxes, device="cpu", invalid="skip")),
        (ValueError, "unknown invalid", lambda: gpu.pairs(boxes, device="cpu", invalid="drop")),
        (ValueError, "there is no device 'cuda:77'", lambda: gpu.pairs(boxes, device="cuda:77")),
        (ValueError, "capacity", lambda: gpu.pairs(boxes, device="cpu", capacity=-1)),
    ]  # fmt: skip
    if not wp.is_cuda_available():
        cases.append((ValueError, "no CUDA device", lambda: gpu.pairs(boxes)))
    for kind, text, call in cases:
        with pytest.raises(kind, match=text):
            call()


@pytest.mark.parametrize("axes", [1, 4])
def test_gpu_boxes_of_one_axis_or_four_are_refused_by_name(axes):
    boxes = np.zeros((5, 2, axes))
    for given in (
        boxes,
        boxes.reshape(5, 2 * axes),
        boxes[None],
        wp.array(boxes, dtype=wp.float64, device="cpu"),
        wp.array(boxes.reshape(5, 2 * axes), dtype=wp.float64, device="cpu"),
        (wp.array(boxes[:, 0], dtype=wp.float64, device="cpu"), wp.array(boxes[:, 1], dtype=wp.float64, device="cpu")),
    ):
        for call in (gpu.pairs, gpu.count_pairs, gpu.explain, gpu.Index):
            with pytest.raises(ValueError, match=f"boxes on a device have 2 or 3 axes, not {axes}"):
                call(given, device="cpu")
    with pytest.raises(ValueError, match=f"other: boxes on a device have 2 or 3 axes, not {axes}"):
        gpu.pairs(np.zeros((5, 2, 3)), boxes, device="cpu")


def test_gpu_lack_of_memory_is_a_memory_error_and_changes_nothing(monkeypatch):
    force(monkeypatch, "tree")
    boxes = make_scene("uniform", 300)
    gpu.release()
    empty, left = wp.empty, 0

    def failing(*arguments, **options):
        nonlocal left
        left -= 1
        if left == 0:
            raise RuntimeError("Failed to allocate 1 bytes on device 'cpu'")
        return empty(*arguments, **options)

    monkeypatch.setattr(wp, "empty", failing)
    failed, found = 0, None
    while found is None:
        left = failed + 1
        try:
            found = gpu.pairs(boxes, device="cpu", sort=True)
        except MemoryError:
            gpu.release()
            failed += 1
    assert failed > 5
    assert np.array_equal(found, bp.pairs(boxes, sort=True))


# Where Warp or a device is missing ------------------------------------------------------------------------------------


class OnDevice:
    """What `pairs` knows of an array on a CUDA device."""

    def __dlpack_device__(self):
        return 2, 0


def test_boxes_on_a_device_are_searched_there(monkeypatch):
    told = {}

    def recorded(*arguments, **options):
        told.update(options, arguments=arguments)
        return "result"

    boxes = OnDevice()
    for module, name, call, options in (
        (searches, "pairs", bp.pairs, {"sort": True, "margin": 2.0, "capacity": 7, "batch": 3, "touching": False}),
        (searches, "count_pairs", bp.count_pairs, {"layer": 1, "mask": 2, "group": 3, "static": 4, "ignore_shared": 5}),
        (explanation, "explain", bp.explain, {"batch": 3}),
    ):
        monkeypatch.setattr(module, name, recorded)
        told.clear()
        assert call(boxes, **options) == "result"
        assert told["arguments"] == (boxes, None)
        assert options.items() <= told.items()
    assert bp.count_pairs((boxes, boxes)) == "result"


@pytest.mark.skipif(wp.is_cuda_available(), reason="there is a CUDA device")
def test_boxes_on_a_device_that_warp_does_not_find_are_named():
    for boxes in (OnDevice(), (OnDevice(), OnDevice())):
        with pytest.raises(TypeError, match="is on a CUDA device, and Warp finds none"):
            bp.pairs(boxes)


@pytest.mark.parametrize(
    "option", [{"method": "grid"}, {"workers": 2}, {"ignore_pairs": [[0, 1]]}, {"period": 1.0}, {"progress": True}]
)
def test_options_of_the_host_are_errors_for_boxes_on_a_device(option):
    [name] = option
    with pytest.raises(ValueError, match=f"{name} is not for boxes on a device: "):
        bp.pairs(OnDevice(), **option)


def test_gpu_without_warp_names_the_install():
    script = """
import sys
sys.modules["warp"] = None
import broadphase as bp
assert len(bp.pairs([[0, 0, 2, 2], [1, 1, 3, 3]])) == 1
try:
    bp.gpu.pairs([[0, 0, 2, 2], [1, 1, 3, 3]], device="cpu")
except bp.errors.MissingExtraError as error:
    print(error)
"""
    assert run_script(script).strip() == 'searching on a GPU needs warp: pip install "broadphase[gpu]"'


def test_gpu_compilation_that_takes_long_is_told(capsys, monkeypatch):
    class Slow:
        name = "broadphase.gpu.slow"

    def load_module(*_, **__):
        started.wait(20)

    def tell(*names):
        original(*names)
        started.set()

    original, started = loading._tell, threading.Event()
    monkeypatch.setattr(loading, "_loaded", set())
    monkeypatch.setattr(loading, "_SILENT", 0.001)
    monkeypatch.setattr(loading, "_tell", tell)
    monkeypatch.setattr(wp, "load_module", load_module)
    loading.load(wp.get_device("cpu"), Slow)
    assert started.is_set()
    assert (
        capsys.readouterr().err
        == "broadphase: compiling broadphase.gpu.slow for cpu; Warp keeps it for the next time\n"
    )


def test_gpu_import_does_not_import_warp():
    assert run_script("import sys, broadphase.gpu; print('warp' in sys.modules)").strip() == "False"


def test_gpu_explain_tells_the_way():
    boxes = make_scene("uniform", 5000)
    told = gpu.explain(boxes, device="cpu")
    assert (told.method, told.box_count, told.dim, told.dtype, told.device) == ("tree", 5000, 3, "float32", "cpu")
    assert gpu.explain(boxes.reshape(100, 50, 2, 3), device="cpu").method == "scenes"
    assert gpu.explain(boxes[:1], device="cpu").method == "none"
    assert "5,000 boxes in 3 dimensions, float32, on cpu" in str(told)
    assert "keys before places" in gpu.explain(boxes, device="cpu", batch=np.arange(5000) % 3).reason


@pytest.mark.parametrize(("dimension", "dtype"), FOR_CUDA)
def test_gpu_kernels_of_pairs_compile_for_cuda(dimension, dtype, tmp_path):
    kind = wp.float32 if dtype == "float32" else wp.float64
    for kernels in (tree_kernels(dimension, kind), pairs_kernels(dimension, kind)):
        made = wp.compile_aot_module(kernels.module, arch=80, module_dir=tmp_path, use_ptx=True)
        assert all(path.stat().st_size > 1000 for path in made)
