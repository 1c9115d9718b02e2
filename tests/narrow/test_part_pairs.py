"""Pairs of parts that count: patterns of names, and assemblies by name."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import Part

RNG = np.random.default_rng(5)
NAMES = ["bolt", "bolt (2)", "nut", "Bolt", "flange [a]", "pipe:7"] * 5
SHAPES = bp.Shapes([bp.Sphere(1)] * len(NAMES), RNG.random((len(NAMES), 3)) * 4)
OTHER = bp.Shapes([bp.Box(1, 1, 1)] * 8, RNG.random((8, 3)) * 4)
OTHER_NAMES = ["wall", "bolt", "nut", "slab"] * 2


def pairs_of(**options):
    return {tuple(pair) for pair in bp.clashes(SHAPES, **options).pairs.tolist()}


def expected(pairs, begins, names=(NAMES, NAMES)):
    """The pairs of which one name begins with the first text and the other with the second."""
    one, two = begins
    kept = set()
    for first, second in pairs:
        a, b = names[0][first], names[1][second]
        if (a.startswith(one) and b.startswith(two)) or (a.startswith(two) and b.startswith(one)):
            kept.add((first, second))
    return kept


def test_patterns_leave_out_and_choose_pairs_in_either_order():
    every = pairs_of()
    matched = expected(every, ("bolt", "nut"))
    assert 0 < len(matched) < len(every)
    for patterns in ([("bolt*", "nut*")], [("nut", "bolt*")], (pair for pair in [["bolt*", "nut"]])):
        assert pairs_of(names=NAMES, exclude=patterns) == every - matched
    assert pairs_of(names=NAMES, only=[("bolt*", "nut")]) == matched
    both = expected(every, ("bolt", "")) - expected(every, ("bolt", "nut")) - expected(every, ("pipe", ""))
    assert pairs_of(names=NAMES, only=[("bolt*", "*")], exclude=[("bolt*", "nut"), ("pipe?7", "*")]) == both
    assert pairs_of(names=NAMES, only=[("flange [[]a]", "?olt")]) == expected(every, ("flange", "bolt")) - expected(
        every, ("flange", "bolt (2)")
    ) | expected(every, ("flange", "Bolt"))
    assert pairs_of(names=NAMES, only=[("none", "*")]) == set()
    assert pairs_of(names=np.array(NAMES), only=[]) == every


def test_patterns_of_two_sets_take_either_order():
    every = {tuple(pair) for pair in bp.clashes(SHAPES, OTHER).pairs.tolist()}
    matched = expected(every, ("bolt", "nut"), (NAMES, OTHER_NAMES))
    found = bp.clashes(SHAPES, OTHER, names=(NAMES, OTHER_NAMES), only=[("bolt*", "nut")])
    assert {tuple(pair) for pair in found.pairs.tolist()} == matched != set()
    gaps = bp.clearances(SHAPES, OTHER, 0.5, names=(NAMES, OTHER_NAMES), exclude=[("*", "*")])
    assert len(gaps.pairs) == 0


def test_parts_have_their_own_names():
    ball = bp.Mesh.from_trimesh(trimesh_box())
    parts = [Part(name, ball.vertices, ball.faces, np.zeros(3), np.eye(4)[0], None) for name in ("a", "b", "c")]
    assert bp.clashes(parts, only=[("a", "c")]).pairs.tolist() == [[0, 2]]
    assert bp.clashes(iter(parts), only=[("a", "c")]).pairs.tolist() == [[0, 2]]
    assert bp.clashes(parts, names=["x", "y", "a"], only=[("x", "a")]).pairs.tolist() == [[0, 2]]
    with pytest.raises(ValueError, match=r"need names of all parts: part 3 has none; pass names="):
        bp.clashes([*parts, trimesh_box()], exclude=[("a", "b")])


def trimesh_box():
    class Plain:
        vertices = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
        faces = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
                          [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])  # fmt: skip

    return Plain()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"exclude": "bolt:nut"}, TypeError, "exclude must be a list of pairs of patterns, not 'bolt:nut'"),
        ({"only": ["bolt:nut"]}, TypeError, r"only\[0\] must be two patterns, such as .*not 'bolt:nut'"),
        ({"only": [("a", "b"), ("a", "b", "c")]}, TypeError, r"only\[1\] must be two patterns"),
        ({"only": [("a", 3)]}, TypeError, r"only\[0\] must be two patterns"),
        ({"only": [("a", "b")]}, ValueError, "part 0 has none"),
        ({"only": [("a", "b")], "names": ["a"]}, ValueError, "names has 1 names for 30 parts"),
        ({"only": [("a", "b")], "names": [*NAMES[:-1], 7]}, TypeError, r"names\[29\] must be a name or None, not 7"),
        ({"only": [("a", "b")], "names": "abc"}, TypeError, "names must be a list of names, not 'abc'"),
        ({"parent": [*NAMES[:-1], 7]}, TypeError, r"parent\[29\] must be a name or None, not 7"),
        ({"parent": NAMES[:-1]}, ValueError, "parent has 29 names for 30 parts"),
    ],
)
def test_what_is_no_pattern_or_name_is_named(options, error, message):
    with pytest.raises(error, match=message):
        bp.clashes(SHAPES, **options)


def test_parents_are_given_by_name():
    names = [None if row % 4 == 3 else f"frame {row % 4}" for row in range(len(SHAPES))]
    numbers = [-1 if row % 4 == 3 else 10 + row % 4 for row in range(len(SHAPES))]
    every = pairs_of()
    wanted = {(i, j) for i, j in every if names[i] is None or names[i] != names[j]}
    assert pairs_of(parent=names) == pairs_of(parent=numbers) == pairs_of(parent=np.array(names, object)) == wanted
    assert pairs_of(parent=np.array(numbers, object)) == wanted
    assert pairs_of(parent=[None] * len(SHAPES)) == every
    texts = [name or str(row) for row, name in enumerate(names)]
    assert pairs_of(parent=np.array(texts)) == pairs_of(parent=texts) == wanted
    assert wanted < every
    for library in ("pandas", "polars"):
        series = pytest.importorskip(library).Series
        assert pairs_of(parent=series(names)) == pairs_of(parent=series(numbers)) == wanted
    found = bp.clashes(SHAPES, OTHER, parent=(names, ["frame 1"] * len(OTHER)))
    assert {names[row] for row in found.pairs[:, 0].tolist()} == {None, "frame 0", "frame 2"}
    with pytest.raises(TypeError, match="parent must be a tuple"):
        bp.clashes(SHAPES, OTHER, parent=names)
