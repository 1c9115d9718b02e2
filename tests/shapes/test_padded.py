"""Results in tables of a fixed shape, against loops over the results themselves."""

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native


@pytest.fixture
def index():
    random = np.random.default_rng(0)
    lower = random.random((60, 2)) * 6
    return bp.Index((lower, lower + random.random((60, 2)) * 2))


@pytest.mark.parametrize("width", [0, 1, 3, 100])
@pytest.mark.parametrize("fill", [-1, 0, 2**31 - 1, -(2**31)])
def test_rows_of_queries_are_the_first_ones_and_filled_up(index, width, fill):
    result = index.query_ball(np.random.default_rng(1).random((40, 2)) * 8, 0.5)
    table = result.padded(width, fill)
    assert table.rows.shape == (40, width)
    assert table.rows.dtype == np.int32
    for rows, found, count in zip(table.rows, result, table.counts, strict=True):
        kept = found[:width].tolist()
        assert rows.tolist() == kept + [fill] * (width - len(kept))
        assert count == len(found)


@pytest.mark.parametrize("width", [0, 2, 50])
def test_hits_of_rays_are_the_first_ones_and_filled_up(index, width):
    random = np.random.default_rng(2)
    hits = index.raycast_all(random.random((30, 2)) * 8 - 1, random.normal(size=(30, 2)))
    table = hits.padded(width, fill=7)
    for ray, (found, distances) in enumerate(hits):
        most = min(width, len(found))
        assert table.rows[ray].tolist() == found[:most].tolist() + [7] * (width - most)
        assert table.distances[ray].tolist() == distances[:most].tolist() + [np.inf] * (width - most)
        assert table.counts[ray] == len(found)


def test_results_of_nothing_have_the_shape_that_is_asked_for(index):
    assert index.query_points(np.empty((0, 2))).padded(4).rows.shape == (0, 4)
    none = index.query_points([[99.0, 99.0]]).padded(4)
    assert none.rows.tolist() == [[-1] * 4]
    assert none.counts.tolist() == [0]
    contacts = bp.contacts(bp.Shapes(bp.Circle(1), np.empty((0, 2)))).padded(3, 0)
    assert contacts.pairs.shape == (0, 3, 2)
    assert contacts.normals.shape == (0, 3, 2)


@pytest.mark.parametrize("offsets", [[0, 10**9, 3], [-(10**9), 2, 3], [5, 2, -7], [0, 2**62, -(2**62)]])
def test_offsets_that_their_owner_has_overwritten_end_within_the_rows(offsets):
    rows = np.array([4, 5, 6], np.int32)
    table = bp.index.QueryResult(rows, np.array(offsets)).padded(4)
    assert table.rows.shape == (2, 4)
    assert set(table.rows.ravel().tolist()) <= {-1, 4, 5, 6}


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("width", [0, 1, 2, 20])
def test_contacts_by_body_are_listed_for_both_with_normals_to_the_partner(dimension, width):
    places = np.random.default_rng(3).random((50, dimension)) * 4
    shape = bp.Circle(0.5) if dimension == 2 else bp.Sphere(0.7)
    found = bp.contacts(bp.Shapes(shape, places))
    table = found.padded(width, 50)
    wanted = [[] for _ in range(50)]
    for (one, other), normal, depth in zip(found.pairs.tolist(), found.normals, found.depths, strict=True):
        wanted[one].append(([one, other], normal.tolist(), depth))
        wanted[other].append(([other, one], (-normal).tolist(), depth))
    for body, listed in enumerate(wanted):
        most = min(width, len(listed))
        assert table.counts[body] == len(listed)
        assert table.pairs[body].tolist() == [pair for pair, _, _ in listed[:most]] + [[-1, -1]] * (width - most)
        assert table.normals[body, :most].tolist() == [normal for _, normal, _ in listed[:most]]
        assert table.depths[body].tolist() == [depth for _, _, depth in listed[:most]] + [0] * (width - most)
        assert not table.normals[body, most:].any()
    assert len(found.pairs) > 20


def test_contacts_by_batch_are_those_of_each_batch():
    random = np.random.default_rng(4)
    keys = np.repeat(np.arange(6), 20)
    keys[keys == 3] = 4  # one has none
    world = bp.World(dim=2)
    world.add_many(bp.Circle(0.5), random.random((120, 2)) * 4, batch=keys)
    contacts = world.step(0.0).contacts
    table = contacts.padded(15, 6, batch=keys)
    for batch in range(6):
        own = np.flatnonzero(keys[contacts.pairs[:, 0]] == batch)
        most = min(15, len(own))
        assert table.counts[batch] == len(own)
        assert np.array_equal(table.pairs[batch, :most], contacts.pairs[own[:most]])
        assert np.array_equal(table.normals[batch, :most], contacts.normals[own[:most]])
        assert (table.pairs[batch, most:] == -1).all()
    assert table.counts[3] == 0 < table.counts.min(where=np.arange(6) != 3, initial=99)


def test_what_has_no_place_in_a_table_is_an_error_that_names_it(index):
    result = index.query_points([[1.0, 1.0]])
    for width, fill, error in ((-1, 0, ValueError), (1.5, 0, ValueError), ("3", 0, TypeError), (1, 2**31, ValueError)):
        with pytest.raises(error, match=r"width|fill"):
            result.padded(width, fill)
    contacts = bp.contacts(bp.Shapes(bp.Circle(1), [[0, 0], [1, 0], [9, 9]]))
    for width in (2**40, 2**62):  # times four, the last is 0 in 64 bits
        with pytest.raises(MemoryError):
            index.query_points(np.ones((4, 2))).padded(width)
        with pytest.raises(MemoryError):
            contacts.padded(width, 4)
    with pytest.raises(ValueError, match=r"pairs: contact 0 is of 1, and count is 1"):
        contacts.padded(2, 1)
    with pytest.raises(ValueError, match=r"batch: contact 0 is of 5, and count is 2"):
        contacts.padded(2, 2, batch=[5, 0, 1])
    with pytest.raises(ValueError, match=r"batch has shape \(1,\), and there is a contact of row 1"):
        contacts.padded(2, 2, batch=[0])
    with pytest.raises(TypeError, match="batch"):
        contacts.padded(2, 2, batch=[0.5, 1, 2])


@pytest.mark.parametrize("wanted", [0, 1, 4, 32, 33, 60])
@pytest.mark.parametrize("seed", range(4))
def test_least_values_of_each_query_with_rows_that_come_twice(wanted, seed):
    random = np.random.default_rng(seed)
    count, given = 9, 300
    rows, queries = random.integers(0, 40, (2, given)).astype(np.int32)
    queries %= count
    values = random.integers(0, 12, given) / 2
    values[random.random(given) < 0.05] = np.inf
    limits = np.array([np.inf, 0, 3, 2.5, np.inf, 6, 100, 1, np.inf])
    found, least = _native.least_of_each(rows, queries, values, limits, wanted)
    for query in range(count):
        best = {}
        for row, value in zip(rows[queries == query].tolist(), values[queries == query].tolist(), strict=True):
            if value <= limits[query] and value < np.inf:
                best[row] = min(best.get(row, np.inf), value)
        ordered = sorted((value, row) for row, value in best.items())[:wanted]
        assert found[query].tolist() == [row for _, row in ordered] + [-1] * (wanted - len(ordered))
        assert least[query].tolist() == [value for value, _ in ordered] + [np.inf] * (wanted - len(ordered))
