"""Clashes in groups: by keys of both parts, and by cells."""

from collections import defaultdict

import numpy as np
import pytest

import broadphase as bp

RNG = np.random.default_rng(11)
SHAPES = bp.Shapes([bp.Sphere(1)] * 40, RNG.random((40, 3)) * 8 - 4)
FOUND = bp.clashes(SHAPES, clearance=1.0, tolerance=0.1)
KEYS = [f"key {row % 5}" for row in range(40)]


def severity(row, found=FOUND):
    depth = found.depths[row]
    kinds = ["duplicate", "penetrates", "contains", "touches", "near"]
    return kinds.index(found.kinds[row]), 0.0 if np.isnan(depth) else -depth, found.gaps[row]


def check(groups, expected):
    """The groups are those expected; each is worst first, and they are in the order of their worst."""
    rows = [groups.rows_of(group).tolist() for group in range(len(groups.keys))]
    keys = [key if isinstance(key[0], int) else frozenset(key) for key in groups.keys]
    assert {key: sorted(one) for key, one in zip(keys, rows, strict=True)} == expected
    assert sorted(groups.rows.tolist()) == list(range(len(FOUND.pairs)))
    for one in [*rows, groups.worst.tolist()]:
        assert [severity(row) for row in one] == sorted(severity(row) for row in one)
    assert groups.counts.tolist() == [len(one) for one in rows]
    assert groups.worst.tolist() == [one[0] for one in rows]


def test_groups_have_the_same_two_keys_in_either_order():
    assert {"penetrates", "near"} <= set(FOUND.kinds.tolist())
    expected = defaultdict(list)
    for row, (first, second) in enumerate(FOUND.pairs.tolist()):
        expected[frozenset((KEYS[first], KEYS[second]))].append(row)
    check(FOUND.grouped(KEYS), expected)
    check(FOUND.grouped(np.array(KEYS)), expected)


def test_parts_without_a_key_stay_alone():
    groups = FOUND.grouped([None] * 40)
    assert groups.counts.tolist() == [1] * len(FOUND.pairs)
    assert set(groups.keys) == {(None, None)}


def test_keys_of_two_sets_are_in_their_order():
    found = bp.clashes(SHAPES, SHAPES)
    groups = found.grouped(KEYS, KEYS)
    expected = defaultdict(list)
    for row, (first, second) in enumerate(found.pairs.tolist()):
        expected[KEYS[first], KEYS[second]].append(row)
    rows = [sorted(groups.rows_of(group).tolist()) for group in range(len(groups.keys))]
    assert dict(zip(groups.keys, rows, strict=True)) == expected


def test_cells_hold_the_middle_of_both_points():
    expected = defaultdict(list)
    for row, (one, two) in enumerate(FOUND.points.tolist()):
        cell = tuple(int(np.floor((a + b) / 2 / 2.5)) for a, b in zip(one, two, strict=True))
        expected[cell].append(row)
    assert min(min(cell) for cell in expected) < 0
    check(FOUND.grouped(cell=2.5), expected)


def test_no_clashes_are_no_groups():
    none = bp.clashes(bp.Shapes([bp.Sphere(1)] * 2, [[0, 0, 0], [9, 0, 0]]))
    for groups in (none.grouped(["a", "b"]), none.grouped(cell=1.0)):
        assert (groups.keys, groups.rows.tolist(), groups.offsets.tolist(), groups.worst.tolist()) == ([], [], [0], [])


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((), {}, TypeError, "one of keys and cell"),
        ((KEYS,), {"cell": 1.0}, TypeError, "one of keys and cell"),
        ((KEYS[:20],), {}, ValueError, r"keys has 20 keys, and there is a clash of part \d\d"),
        (("abc",), {}, TypeError, "keys must be a list with a key for each part, not 'abc'"),
        (([*KEYS[:-1], []],), {}, TypeError, r"keys\[39\] is no key of a group: \[\] is not hashable"),
        ((), {"cell": 0.0}, ValueError, "cell must be above 0"),
        ((), {"cell": float("nan")}, ValueError, "cell"),
    ],
)
def test_bad_keys_are_named(arguments, options, error, message):
    with pytest.raises(error, match=message):
        FOUND.grouped(*arguments, **options)
