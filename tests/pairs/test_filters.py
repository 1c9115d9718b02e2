"""Filters: layer, mask, group, static, ignore_pairs and ignore_shared, each by hand and against the oracle."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES, oracle
from cases import METHOD_NAMES, check_pairs, scene

ALL = np.array([[[0.0, 0.0], [1.0, 1.0]]]).repeat(2, axis=0)  # two boxes that overlap
TOP = 1 << 63


def random_filters(rng, n):
    """Make one value of each filter of `n` boxes, such that each leaves out some pairs and lets others through."""
    return {
        "layer": rng.integers(1, 16, n).astype(np.uint64),
        "mask": rng.integers(1, 16, n).astype(np.uint64),
        "group": rng.integers(-3, 4, n),
        "static": rng.random(n) < 0.5,
        "ignore_shared": rng.integers(0, max(2, n), (n, 3)),
    }


def subsets(filters):
    """Give each filter alone, layer with mask, and all of them."""
    names = [[name] for name in filters] + [["layer", "mask"], ["group", "mask", "static"], list(filters)]
    return [{name: filters[name] for name in chosen} for chosen in names]


@pytest.mark.parametrize("name", ["uniform", "rects", "lattice_1d", "lattice_4d", "identical", "giant", "nested"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_filters_on_one_set_equal_the_oracle(name, dtype):
    n = 150
    boxes = scene(name, n, 1, dtype)
    filters = random_filters(np.random.default_rng(5), n)
    found = oracle.pairs(boxes)
    filters["ignore_pairs"] = np.concatenate([found[::3], found[1::3, ::-1], found[:2]])
    for options in subsets(filters):
        check_pairs(boxes, label=f"{name} n={n} {dtype}", **options)


@pytest.mark.parametrize("name", ["uniform", "rects", "lattice_1d", "lattice_4d", "identical", "giant"])
def test_filters_on_two_sets_equal_the_oracle(name):
    boxes, other = scene(name, 150, 1), scene(name, 90, 2)
    rng = np.random.default_rng(6)
    one, two = random_filters(rng, 150), random_filters(rng, 90)
    filters = {key: (one[key], two[key]) for key in one}
    filters["ignore_shared"] = (one["ignore_shared"][:, 0], two["ignore_shared"])
    filters["ignore_pairs"] = oracle.pairs(boxes, other)[::2]
    for options in subsets(filters):
        check_pairs(boxes, other, label=name, **options)


@pytest.mark.parametrize("workers", [1, 2])
def test_filters_on_large_scenes_equal_the_oracle(workers):
    for name in ("uniform", "rects", "clusters", "sticks", "outliers", "half_identical"):
        n = 1200 if SCENES[name].quadratic else 3000
        filters = random_filters(np.random.default_rng(8), n)
        boxes = scene(name, n)
        filters["ignore_pairs"] = oracle.pairs(boxes)[::4]
        check_pairs(boxes, label=name, workers=workers, **filters)


@pytest.mark.parametrize("touching", [True, False])
def test_filters_with_margin_and_touching_equal_the_oracle(touching):
    boxes = scene("lattice", 300, 2)
    filters = random_filters(np.random.default_rng(9), 300)
    check_pairs(boxes, label="lattice", touching=touching, margin=0.5, **filters)


@pytest.mark.parametrize(
    ("layers", "masks", "passes"),
    [
        ([1, 1], [1, 1], True),
        ([1, 2], [2, 1], True),
        ([1, 2], [1, 2], False),
        ([1, 2], [2, 2], False),  # the second does not want the first
        ([1, 2], [3, 3], True),
        ([0, 1], [1, 1], False),
        ([1, 1], [0, 1], False),
        ([TOP, TOP], [TOP, TOP], True),
        ([TOP, 1], [1, TOP], True),
        ([TOP, 1], [TOP - 1, TOP - 1], False),
        ([2**64 - 1, 1], [1, 2**64 - 1], True),
    ],
)
def test_layers_and_masks_must_agree_both_ways(layers, masks, passes):
    layer, mask = np.array(layers, np.uint64), np.array(masks, np.uint64)
    for method in METHOD_NAMES:
        assert bp.count_pairs(ALL, method=method, layer=layer, mask=mask) == passes
        two = {"layer": (layer[:1], layer[1:]), "mask": (mask[:1], mask[1:])}
        assert bp.count_pairs(ALL[:1], ALL[1:], method=method, **two) == passes


@pytest.mark.parametrize(
    ("groups", "masks", "passes"),
    [
        ([0, 0], [1, 1], True),
        ([0, 0], [0, 0], False),
        ([5, 5], [0, 0], True),  # positive and equal: whatever the masks
        ([-5, -5], [1, 1], False),  # negative and equal: never
        ([5, 6], [1, 1], True),
        ([5, 6], [0, 1], False),
        ([-5, -6], [1, 1], True),
        ([5, -5], [1, 1], True),
        ([5, -5], [1, 0], False),
        ([0, -5], [1, 1], True),
        ([2**62, 2**62], [0, 0], True),
        ([-(2**63), -(2**63)], [1, 1], False),
        ([1 << 32, 0], [0, 0], False),
        ([(1 << 32) + 1, 1], [0, 0], False),  # differ in the upper half only
    ],
)
def test_groups_go_before_masks(groups, masks, passes):
    group, mask = np.array(groups), np.array(masks, np.uint64)
    for method in METHOD_NAMES:
        assert bp.count_pairs(ALL, method=method, group=group, mask=mask) == passes
        two = {"group": (group[:1], group[1:]), "mask": (mask[:1], mask[1:])}
        assert bp.count_pairs(ALL[:1], ALL[1:], method=method, **two) == passes


@pytest.mark.parametrize(
    ("static", "group", "passes"),
    [
        ([False, False], 0, True),
        ([True, False], 0, True),
        ([False, True], 0, True),
        ([True, True], 0, False),
        ([True, True], 7, False),  # a positive group does not help
        ([True, False], 7, True),
        ([True, False], -7, False),
    ],
)
def test_two_static_boxes_are_never_a_pair(static, group, passes):
    static, group = np.array(static), np.array([group, group])
    for method in METHOD_NAMES:
        assert bp.count_pairs(ALL, method=method, static=static, group=group) == passes
        two = {"static": (static[:1], static[1:]), "group": (group[:1], group[1:])}
        assert bp.count_pairs(ALL[:1], ALL[1:], method=method, **two) == passes


def test_one_layer_or_mask_for_all_boxes_may_be_a_number():
    boxes = scene("rects", 200)
    layer = np.random.default_rng(1).integers(0, 4, 200).astype(np.uint64)
    expected = oracle.pairs(boxes, layer=layer, mask=np.full(200, 2, np.uint64))
    assert np.array_equal(bp.pairs(boxes, layer=layer, mask=2, sort=True), expected)
    assert bp.count_pairs(boxes, layer=1, mask=2) == 0
    assert bp.count_pairs(boxes, layer=TOP, mask=TOP) == bp.count_pairs(boxes)
    assert bp.count_pairs(boxes, boxes, layer=(1, 2), mask=(2, 1)) == bp.count_pairs(boxes, boxes)
    assert bp.count_pairs(boxes, boxes, layer=(1, 2), mask=(1, 2)) == 0


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "uint64"])
def test_filters_take_any_integer_dtype_and_lists(dtype):
    boxes = scene("rects", 200)
    values = np.random.default_rng(2).integers(0, 4, 200)
    for option in ("layer", "mask", "group", "ignore_shared"):
        expected = oracle.pairs(boxes, **{option: values})
        for form in (values.astype(dtype), values.tolist(), values.astype(dtype)[::-1].copy()[::-1]):
            assert np.array_equal(bp.pairs(boxes, sort=True, **{option: form}), expected), (option, dtype)


def test_ignored_pairs_are_left_out_in_either_order():
    boxes = scene("identical", 4)
    for ignored in ([[0, 1], [2, 3]], [[1, 0], [3, 2]], [[0, 1], [1, 0], [3, 2], [0, 0]]):
        for method in METHOD_NAMES:
            found = bp.pairs(boxes, method=method, ignore_pairs=ignored, sort=True)
            assert found.tolist() == [[0, 2], [0, 3], [1, 2], [1, 3]]


def test_ignored_pairs_of_two_sets_keep_their_order():
    boxes = scene("identical", 2)
    for method in METHOD_NAMES:
        found = bp.pairs(boxes, boxes, method=method, ignore_pairs=[[0, 1]], sort=True)
        assert found.tolist() == [[0, 0], [1, 0], [1, 1]]


def test_ignoring_every_pair_leaves_none():
    boxes = scene("clusters", 2000)
    for method in METHOD_NAMES:
        assert len(bp.pairs(boxes, method=method, ignore_pairs=bp.pairs(boxes))) == 0
        assert bp.count_pairs(boxes, method=method, ignore_pairs=np.empty((0, 2), int)) == bp.count_pairs(boxes)


def test_pairs_that_share_a_value_are_left_out():
    boxes = scene("identical", 4)
    vertices = np.array([[0, 1, 2], [2, 3, 4], [4, 5, 6], [7, 8, 9]])
    for method in METHOD_NAMES:
        found = bp.pairs(boxes, method=method, ignore_shared=vertices, sort=True)
        assert found.tolist() == [[0, 2], [0, 3], [1, 3], [2, 3]]
        assert bp.pairs(boxes, method=method, ignore_shared=[1, 1, 2, 1], sort=True).tolist() == [
            [0, 2],
            [1, 2],
            [2, 3],
        ]


def test_pairs_that_share_a_value_over_two_sets_are_left_out():
    points, triangles = scene("identical", 3), scene("identical", 2)
    corners = np.array([[0, 1, 5], [9, 8, 2]])
    for method in METHOD_NAMES:
        found = bp.pairs(points, triangles, method=method, ignore_shared=(np.arange(3), corners), sort=True)
        assert found.tolist() == [[0, 1], [1, 1], [2, 0]]


@pytest.mark.parametrize("widths", [(6, 6), (7, 7), (20, 20), (3, 30), (30, 3), (1, 7)])
def test_pairs_that_share_one_of_many_values_are_left_out(widths):
    rng = np.random.default_rng(widths)
    boxes, others = scene("identical", 40), scene("identical", 50)
    most = 2 * widths[0] * widths[1]  # of values, with which some pairs share one
    first, second = (rng.integers(-most, most, (n, width)) for n, width in zip((40, 50), widths, strict=True))
    first[0], second[0] = -(2**63), 2**63 - 1
    shared = (first[:, np.newaxis, :, np.newaxis] == second[:, np.newaxis]).any(axis=(2, 3))
    assert 0 < shared.sum() < shared.size
    found = bp.pairs(boxes, others, ignore_shared=(first, second), sort=True)
    assert np.array_equal(found, np.argwhere(~shared))
    shared = (first[:, np.newaxis, :, np.newaxis] == first[:, np.newaxis]).any(axis=(2, 3))
    assert np.array_equal(bp.pairs(boxes, ignore_shared=first, sort=True), np.argwhere(np.triu(~shared, 1)))


def test_filter_of_one_set_only_may_be_none():
    boxes, other = scene("identical", 2), scene("identical", 3)
    static = np.array([True, False, True])
    assert bp.count_pairs(boxes, other, static=(None, static)) == 6
    assert bp.count_pairs(boxes, other, mask=(None, [1, 0, 1])) == 4


@pytest.mark.parametrize("option", ["layer", "mask", "group", "static", "ignore_shared"])
def test_filters_of_the_wrong_length_are_refused(option):
    boxes = scene("rects", 10)
    for length in (0, 9, 11):
        values = np.ones(length, bool if option == "static" else int)
        with pytest.raises(ValueError, match=option):
            bp.pairs(boxes, **{option: values})
        right = np.ones(10, values.dtype)
        with pytest.raises(ValueError, match=option):
            bp.pairs(boxes, boxes, **{option: (right, values)})


@pytest.mark.parametrize("option", ["layer", "mask", "group", "static", "ignore_shared"])
def test_filters_of_real_or_text_values_are_refused(option):
    boxes = scene("rects", 3)
    for values in ([0.5, 1.0, 2.0], ["a", "b", "c"]):
        with pytest.raises((TypeError, ValueError), match=option):
            bp.pairs(boxes, **{option: values})


@pytest.mark.parametrize("ignored", [[[0, 10]], [[-1, 3]], [[0, 1, 2]], [0, 1]])
def test_ignored_pairs_that_cannot_be_are_refused(ignored):
    with pytest.raises(ValueError, match="ignore_pairs"):
        bp.pairs(scene("rects", 10), ignore_pairs=ignored)


def test_filters_are_not_modified():
    rng = np.random.default_rng(4)
    boxes, filters = scene("uniform", 500), random_filters(rng, 500)
    filters["ignore_pairs"] = bp.pairs(boxes)[::2].copy()
    before = {name: values.copy() for name, values in filters.items()}
    for values in filters.values():
        values.setflags(write=False)
    bp.pairs(boxes, **filters)
    for name, values in filters.items():
        assert np.array_equal(values, before[name]), name
