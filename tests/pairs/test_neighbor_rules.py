"""Neighbors by species, without ignored pairs, within sight of a heading, and padded: against the formula."""

import re

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import simd_level, simd_levels
from oracles.neighbors import plain_neighbors

WANTED = {"distances": True, "vectors": True, "shifts": True}


def listed(found):
    """Rows like those of the oracle, sorted."""
    columns = [found.pairs, found.shifts, found.distances[:, None], found.vectors]
    return sorted(tuple(row) for row in np.concatenate(columns, axis=1).tolist())


def random_scene(seed):
    """Points, a cell or none, a table of cutoffs, species, and pairs to leave out, some of them twice."""
    rng = np.random.default_rng(seed)
    dimension = 2 + seed % 2
    count = int(rng.integers(0, 200 if seed % 3 == 0 else 40))
    points = rng.uniform(-1, 3, (count, dimension))
    cell = [None, [3.0] * dimension, np.eye(dimension) * 3 + np.eye(dimension, k=1)][seed % 3]
    table = rng.choice([0.0, 0.02, 0.1, 0.4, 0.9], (4, 4))
    ignored = rng.integers(0, count, (count, 2)) if count else np.empty((0, 2), int)
    return points, cell, np.maximum(table, table.T), rng.integers(0, 4, count), ignored


def left(points, cell, table, species, ignored):
    leave_out = {tuple(sorted(pair)) for pair in ignored.tolist()}
    dimension = points.shape[1]
    return [
        row
        for row in plain_neighbors(points, 0.9, cell=cell)
        if row[2 + dimension] <= table[species[row[0]], species[row[1]]] and tuple(sorted(row[:2])) not in leave_out
    ]


@pytest.mark.parametrize("seed", range(24))
def test_neighbors_by_species_without_ignored_pairs_as_the_formula(seed):
    points, cell, table, species, ignored = random_scene(seed)
    expected = left(points, cell, table, species, ignored)
    options = {"cell": cell, "species": species, "ignore_pairs": ignored, "full": True, **WANTED}
    assert listed(bp.neighbors(points, table, **options, workers=2)) == expected
    for level in simd_levels():
        with simd_level(level):
            assert listed(bp.neighbors(points, table, **options)) == expected
    kept = bp.NeighborList(table, skin=0.2, species=species, ignore_pairs=ignored, full=True, **WANTED)
    for _ in range(2):
        assert listed(kept.update(points, cell)) == expected
        points = points + 0.01
        expected = left(points, cell, table, species, ignored)


def test_neighbors_of_two_sets_by_species_as_the_formula():
    points, cell, table, species, _ = random_scene(3)
    other, others = points[::2] + 0.1, species[::2]
    ignored = [[0, 1], [1, 0], [5, 2], [0, 0]]
    dimension = points.shape[1]
    expected = [
        row
        for row in plain_neighbors(points, 0.9, other, cell=cell)
        if row[2 + dimension] <= table[species[row[0]], others[row[1]]] and list(row[:2]) not in ignored
    ]
    found = bp.neighbors(points, table, other, cell=cell, species=(species, others), ignore_pairs=ignored, **WANTED)
    assert listed(found) == expected
    assert len(expected) > 100


def test_neighbors_by_species_of_very_different_reach_as_the_formula():
    rng = np.random.default_rng(1)
    points, species = rng.random((600, 3)), rng.integers(0, 6, 600)
    reaches = np.array([1e-4, 0.001, 0.01, 0.05, 0.2, 0.7])
    table = np.minimum.outer(reaches, reaches)
    expected = [
        row[:2] for row in plain_neighbors(points, 0.7) if row[4 + 1] <= table[species[row[0]], species[row[1]]]
    ]
    assert sorted(map(tuple, bp.neighbors(points, table, species=species, full=True).pairs.tolist())) == expected
    in_cell = bp.neighbors(points, table, species=species, cell=[1, 1, 1], full=True, distances=True)
    far = bp.neighbors(points, 0.7, cell=[1, 1, 1], full=True, distances=True)
    near = far.distances <= table[species[far.pairs[:, 0]], species[far.pairs[:, 1]]]
    assert sorted(in_cell.pairs.tolist()) == sorted(far.pairs[near].tolist())


@pytest.mark.parametrize("names", [("O", "H", "C"), (8, 1, 6), (8, 1, 10**12)])
def test_neighbors_with_cutoffs_by_name_as_by_table(names):
    rng = np.random.default_rng(2)
    points, species = rng.random((80, 3)), rng.integers(0, 3, 80)
    table = np.array([[0.3, 0.2, 0.0], [0.2, 0.1, 0.0], [0.0, 0.0, 0.0]])
    cutoff = {(names[0], names[0]): 0.3, (names[1], names[0]): 0.2, (names[1], names[1]): 0.1}
    named = np.array(names)[species]
    by_table = bp.neighbors(points, table, species=species, sort=True).pairs.tolist()
    assert bp.neighbors(points, cutoff, species=named, sort=True).pairs.tolist() == by_table
    assert bp.neighbors(points, cutoff, species=named.tolist(), sort=True).pairs.tolist() == by_table
    assert len(bp.neighbors(points, {}, species=named).pairs) == 0
    # At one place, too, species that are not named are no pair.
    assert len(bp.neighbors([[0, 0], [0, 0]], {(1, 2): 1.0}, species=[1, 1]).pairs) == 0


def test_ignored_pairs_of_one_point_and_its_images():
    assert len(bp.neighbors([[0, 0]], 1.0, cell=[1, 1], ignore_pairs=[[0, 0]]).pairs) == 0
    star = np.stack([np.zeros(5000, int), np.arange(1, 5001)], axis=1)
    points = np.random.default_rng(0).random((6000, 2)) * 0.1
    found = bp.neighbors(points, 1.0, points[:1], ignore_pairs=star[:, ::-1]).pairs
    assert sorted(found[:, 0].tolist()) == [0, *range(5001, 6000)]


@pytest.mark.parametrize("seed", range(16))
def test_neighbors_in_sight_as_the_formula(seed):
    points, cell, *_ = random_scene(seed)
    rng = np.random.default_rng(seed)
    count, dimension = points.shape
    headings = rng.normal(size=points.shape)
    angles = rng.uniform(0, np.pi, count)

    def sees(row, headings=headings):
        vector, heading = np.array(row[3 + dimension :]), headings[row[0]] / np.linalg.norm(headings[row[0]])
        angle = np.arccos(np.clip(vector @ heading / np.linalg.norm(vector), -1, 1))
        assert abs(angle - angles[row[0]]) > 1e-6  # of a random scene: the formula is as good as any
        return angle < angles[row[0]]

    expected = [row for row in plain_neighbors(points, 0.7, cell=cell) if sees(row)]
    headings = headings * 10.0 ** rng.integers(-200, 200, (count, 1))  # of any length
    found = bp.neighbors(points, 0.7, cell=cell, headings=headings, angle=angles, **WANTED)
    assert listed(found) == expected
    counts = np.bincount([row[0] for row in expected], minlength=count)
    assert np.diff(found.offsets).tolist() == counts[:count].tolist()
    assert found.rows.tolist() == found.pairs[:, 1].tolist()
    assert bp.neighbors(points, 0.7, cell=cell, headings=headings, angle=angles).vectors is None


@pytest.mark.parametrize("dimension", [2, 3])
def test_sight_is_exact_straight_ahead_behind_and_at_right_angles(dimension):
    around = np.zeros((5, dimension))
    around[1:, :2] = [[2, 0], [0, 2], [-2, 0], [0, -2]]
    headings = np.zeros((5, dimension))
    headings[0, 0] = 5.0

    def seen(angle, heading=None):
        looking = headings if heading is None else np.broadcast_to(np.pad(heading, (0, dimension - 2)), (5, dimension))
        found = bp.neighbors(around, 3, headings=looking, angle=angle)
        return sorted(found.rows[found.offsets[0] : found.offsets[1]].tolist())

    assert seen(0) == [1]
    assert seen(np.pi / 2 * 0.999) == [1]
    assert seen(np.pi / 2 * 1.001) == [1, 2, 4]
    assert seen(np.pi) == [1, 2, 3, 4]
    assert seen(0.1, [0, 0]) == [1, 2, 3, 4]
    assert bp.neighbors([[1, 1], [1, 1]], 1, headings=[[1, 0], [0, 1]], angle=0).rows.tolist() == [1, 0]


def test_sight_of_one_set_into_another_and_of_scenes():
    found = bp.neighbors([[0, 0]], 9, [[1, 0], [-1, 0], [1, 0.1]], headings=[[1, 0]], angle=0.2)
    assert sorted(found.rows.tolist()) == [0, 2]
    scenes = [[[0, 0], [1, 0]], [[0, 0], [1, 0]]]
    looking = [[[1, 0], [1, 0]], [[-1, 0], [-1, 0]]]
    assert bp.neighbors(scenes, 9, headings=looking, angle=0.2).pairs.tolist() == [[0, 1], [3, 2]]


@pytest.mark.parametrize("seed", range(6))
def test_padded_neighbors_are_the_nearest_in_order(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (int(rng.integers(0, 60)), 2)) * 0.5  # many at the same distance
    cell = [2.0, 2.0] if seed % 2 else None
    found = bp.neighbors(points, 1.2, cell=cell, full=True, **WANTED)
    rows = plain_neighbors(points, 1.2, cell=cell)
    for width in (0, 1, 3, 40):
        table = found.padded(width)
        assert table.counts.tolist() == np.bincount([row[0] for row in rows], minlength=len(points)).tolist()
        for point in range(len(points)):
            nearest = sorted((row[4], row[1], row[2:4], row[5:]) for row in rows if row[0] == point)[:width]
            count = len(nearest)
            assert table.rows[point].tolist() == [near[1] for near in nearest] + [-1] * (width - count)
            assert table.distances[point, :count].tolist() == [near[0] for near in nearest]
            assert table.shifts[point, :count].tolist() == [list(near[2]) for near in nearest]
            assert table.vectors[point, :count].tolist() == [list(near[3]) for near in nearest]
            assert np.isinf(table.distances[point, count:]).all()
            assert not table.vectors[point, count:].any()


def test_padded_neighbors_name_what_is_missing():
    with pytest.raises(ValueError, match="call neighbors with full=True"):
        bp.neighbors([[0, 0]], 1).padded(1)
    with pytest.raises(ValueError, match="call neighbors with distances=True"):
        bp.neighbors([[0, 0]], 1, full=True).padded(1)
    changed = bp.neighbors([[0, 0], [1, 0]], 1, full=True, distances=True)
    changed.distances[:] = np.nan
    changed.offsets[:] = [-5, 100, 3]
    assert changed.padded(2).rows.shape == (2, 2)


TWO = [[0, 0], [1, 0]]


@pytest.mark.parametrize(
    ("cutoff", "options", "text"),
    [
        ({("a", "b"): 1}, {}, "cutoff: by species, and species= is not given"),
        ([[1, 1], [1, 1]], {}, "cutoff: by species, and species= is not given"),
        (1.0, {"species": [0, 1]}, "species= needs a cutoff for each two of them"),
        ([[1, 2], [3, 1]], {"species": [0, 1]}, "cutoff: row 0 of the table has a number below 0, or it is not symm"),
        ([[1, -1], [-1, 1]], {"species": [0, 1]}, "cutoff: row 0 of the table"),
        ([[np.nan]], {"species": [0, 0]}, "cutoff: row 0 of the table"),
        ([[1e-200]], {"species": [0, 0]}, "cutoff must be 0, or from 1e-150 to 1e150"),
        ([[1, 1]], {"species": [0, 0]}, r"cutoff by species must have shape \(S, S\)"),
        ([[1]], {"species": [0, 1]}, "species: row 1 is 1; the table of cutoffs is for 0 to 0"),
        ([[1]], {"species": [0, -1]}, "species: row 1 is -1"),
        ([[1]], {"species": [0]}, r"species must have shape \(2,\), one for each point, not \(1,\)"),
        ([[1]], {"species": ["a", "b"]}, "a table of cutoffs goes by numbers from 0; for names, give cutoff as a dict"),
        ([[1]], {"species": [0.5, 1]}, "species must be integers or strings, not float64"),
        ({"ab": 1}, {"species": [0, 1]}, "cutoff: a key must be a tuple of two species, strings or integers, not 'ab'"),
        ({("a", 1): 1}, {"species": [0, 1]}, "its species are strings and integers; all must be of one kind"),
        ({("a", "b"): 1}, {"species": [0, 1]}, "species are integers, and those of cutoff are not"),
        ({(0, 1): -1}, {"species": [0, 1]}, r"cutoff\[\(0, 1\)\] must be at least 0, not -1"),
        ({(0, 1): 1, (1, 0): 2}, {"species": [0, 1]}, r"cutoff: \(1, 0\) and \(0, 1\) differ"),
        (1.0, {"ignore_pairs": [[0, 2]]}, r"ignore_pairs row 0 names points \[0, 2\], but there are 2"),
        (1.0, {"ignore_pairs": [0, 1]}, r"ignore_pairs has shape \(2,\); \(k, 2\) is needed"),
        (1.0, {"headings": TWO}, "headings= and angle= belong together"),
        (1.0, {"angle": 1}, "headings= and angle= belong together"),
        (1.0, {"headings": [[0, 0]], "angle": 1}, r"headings must have shape \(2, 2\), as points, not \(1, 2\)"),
        (1.0, {"headings": [[0, 0], [np.nan, 0]], "angle": 1}, "headings: row 1 has NaN"),
        (1.0, {"headings": TWO, "angle": 4}, "angle is 4.0, and must be from 0 to pi radians"),
        (1.0, {"headings": TWO, "angle": [1, -1]}, "angle: row 1 is -1.0, and must be from 0 to pi radians"),
        (1.0, {"headings": TWO, "angle": [1, 1, 1]}, r"angle must be one number or have shape \(2,\), not \(3,\)"),
    ],
)
def test_bad_rules_are_named(cutoff, options, text):
    with pytest.raises((ValueError, TypeError), match=text):
        bp.neighbors(TWO, cutoff, **options)


def test_bad_rules_of_lists_and_two_sets_are_named():
    with pytest.raises(ValueError, match=re.escape("species: for two sets of points, give a tuple")):
        bp.neighbors(TWO, [[1]], TWO, species=[0, 0])
    with pytest.raises(ValueError, match=re.escape("species[1]: row 1 is 1")):
        bp.neighbors(TWO, [[1]], TWO, species=([0, 0], [0, 1]))
    kept = bp.NeighborList([[1]], skin=0.1, species=[0, 0])
    with pytest.raises(ValueError, match="points has 1 rows, and species has 2"):
        kept.update([[0, 0]])
    kept = bp.NeighborList(1, skin=0.1, ignore_pairs=[[0, 1]])
    kept.update(TWO)
    with pytest.raises(ValueError, match="points has 1 rows, and before it had 2"):
        kept.update([[0, 0]])


def test_objects_with_positions_are_told_what_to_give():
    class Atoms:
        positions = np.zeros((2, 3))

    with pytest.raises(TypeError, match=r"Atoms is no array; give its \.positions"):
        bp.neighbors(Atoms(), 1.0)
