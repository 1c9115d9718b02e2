"""The adapter of ASE: its own tests pass with our functions in their place, and results are the same pair for pair."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("ase", reason="ASE is not installed")
import ase.neighborlist as theirs
from ase import Atoms
from ase.build import bulk, molecule

from broadphase.adapters import ase as ours

PLUGIN = """
import ase.neighborlist
import broadphase.adapters.ase as ours
for name in ours.__all__:
    setattr(ase.neighborlist, name, getattr(ours, name))
ase.neighborlist.NewPrimitiveNeighborList = ours.PrimitiveNeighborList
"""


def rows(found):
    """The pairs as a sorted list of (i, j, shift), with their distances and vectors beside it."""
    i, j, distances, vectors, shifts = found
    order = np.lexsort((*shifts.T[::-1], j, i))
    assert (np.diff(i) >= 0).all()
    return np.column_stack([i, j, shifts])[order].tolist(), distances[order], vectors[order]


def check(atoms, cutoff, **options):
    expected, distances, vectors = rows(theirs.neighbor_list("ijdDS", atoms, cutoff, **options))
    found, our_distances, our_vectors = rows(ours.neighbor_list("ijdDS", atoms, cutoff, **options))
    assert found == expected
    np.testing.assert_allclose(our_distances, distances, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(our_vectors, vectors, rtol=1e-13, atol=1e-12)
    return len(expected)


def test_tests_of_ase_pass_with_ours_in_place(tmp_path):
    (tmp_path / "ours_in_place.py").write_text(PLUGIN)
    script = "import sys, pytest; sys.path.insert(0, sys.argv.pop(1)); sys.exit(pytest.main())"
    options = ["-q", "-p", "ours_in_place", "-p", "no:cacheprovider", "--pyargs"]
    result = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), *options, "ase.test.neighbor", "ase.test.test_cutoffs"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout
    assert " passed" in result.stdout


@pytest.mark.parametrize("self_interaction", [False, True])
@pytest.mark.parametrize("pbc", [False, True, (True, False, True)])
def test_neighbor_list_of_random_cells_equals_that_of_ase(pbc, self_interaction):
    random = np.random.default_rng(3)
    for count in (1, 2, 17):
        cell = np.diag(random.uniform(2, 5, 3)) + random.uniform(-1.5, 1.5, (3, 3))
        atoms = Atoms("C" * count, random.uniform(-9, 9, (count, 3)), cell=cell, pbc=pbc)
        assert check(atoms, 4.3, self_interaction=self_interaction) or not any(np.atleast_1d(pbc))


@pytest.mark.parametrize("self_interaction", [False, True])
def test_cutoffs_by_element_and_by_atom_equal_those_of_ase(self_interaction):
    atoms = molecule("CH3CH2OH")
    by_element = {("H", "H"): 1.9, (1, "C"): 1.3, ("C", "C"): 1.85, ("U", 1): 9.0}
    assert check(atoms, by_element, self_interaction=self_interaction)
    assert check(atoms, theirs.natural_cutoffs(atoms), self_interaction=self_interaction)
    assert check(atoms, [0.8] * len(atoms), self_interaction=self_interaction)


def test_pair_at_exactly_the_cutoff_is_none_as_in_ase():
    atoms = Atoms("H3", [[0, 0, 0], [1, 0, 0], [0, 2, 0]])
    for cutoff in (1.0, 2.0, [0.5] * 3, [0.5, 0.5, 1.5], {("H", "H"): 1.0}, 0.0):
        check(atoms, cutoff)
    assert len(ours.neighbor_list("i", atoms, 1.0)) == 0
    assert len(ours.neighbor_list("i", atoms, np.nextafter(1.0, 2.0))) == 2


@pytest.mark.parametrize("bothways", [False, True])
@pytest.mark.parametrize("self_interaction", [False, True])
def test_neighbor_lists_in_steps_are_those_of_ase(bothways, self_interaction):
    random = np.random.default_rng(4)
    atoms = bulk("NaCl", "rocksalt", a=5.6) * 2
    options = {"skin": 0.4, "sorted": True, "self_interaction": self_interaction, "bothways": bothways}
    radii = random.uniform(1.0, 1.9, len(atoms))
    lists = [
        theirs.NeighborList(radii, **options),
        ours.NeighborList(radii, **options),
    ]
    for step in range(8):
        assert len({near.update(atoms) for near in lists}) == 1, step
        for atom in range(len(atoms)):
            expected, found = (np.column_stack(near.get_neighbors(atom)).tolist() for near in lists)
            assert found == expected
        atoms.positions += random.normal(0, 0.06, atoms.positions.shape)
    assert 1 < lists[1].nupdates < 8
    assert lists[1].nupdates == lists[0].nupdates
    assert [len(one) for one in lists[1].nl.neighbors] == [len(lists[1].get_neighbors(a)[0]) for a in range(len(atoms))]


@pytest.mark.parametrize("bothways", [False, True])
@pytest.mark.parametrize("self_interaction", [False, True])
@pytest.mark.parametrize("are_scaled", [False, True])
def test_sorted_neighbor_list_is_that_of_ase_entry_by_entry(bothways, self_interaction, are_scaled):
    random = np.random.default_rng(5)
    for number in range(40):
        count = int(random.integers(1, 12))
        cell = np.diag(random.uniform(2, 6, 3)) + random.uniform(-1, 1, (3, 3)) * random.choice([0, 1, 3])
        pbc = random.random(3) < 0.6 if number % 3 else bool(number % 2)
        places = random.uniform(-2, 2, (count, 3)) if are_scaled else random.uniform(-8, 8, (count, 3))
        radii = random.uniform(0.5, 2.2, count) if number % 2 else [1.5] * count
        options = {"sorted": 1, "self_interaction": self_interaction, "bothways": int(bothways)}
        lists = [
            module.PrimitiveNeighborList(radii, use_scaled_positions=are_scaled, **options) for module in (theirs, ours)
        ]
        for near in lists:
            near.build([pbc] * 3 if np.ndim(pbc) == 0 else pbc, cell, places)
        for atom in range(-count, count):
            for one, other in zip(lists[1].get_neighbors(atom), lists[0].get_neighbors(atom), strict=True):
                assert one.tolist() == other.tolist()
                assert one.dtype.char == other.dtype.char
        assert lists[1].first_neigh.tolist() == theirs.first_neighbors(count, lists[1].pair_first).tolist()
        assert [len(one) for one in lists[1].displacements] == [len(one) for one in lists[0].displacements]


def test_sorted_neighbors_of_a_crystal_outside_its_cell_are_those_of_ase():
    atoms = bulk("NaCl", "rocksalt", a=5.6) * 3
    atoms.rattle(0.2, seed=5)
    for radii in (np.full(len(atoms), 2.4), np.linspace(1.5, 2.6, len(atoms))):
        expected, found = (module.NeighborList(radii, sorted=True) for module in (theirs, ours))
        assert expected.update(atoms)
        assert found.update(atoms)
        for atom in range(len(atoms)):
            for one, other in zip(found.get_neighbors(atom), expected.get_neighbors(atom), strict=True):
                assert one.tolist() == other.tolist()


def test_atoms_are_counted_from_the_end_and_sliced_as_in_ase():
    atoms = molecule("CH3CH2OH")
    count, results = len(atoms), []
    for module in (theirs, ours):
        near = module.NeighborList([0.8] * count, bothways=True, sorted=True)
        near.update(atoms)
        results.append([])
        for atom in (*range(-count - 2, count + 2), np.int64(-1), True, slice(1, 3), 2.0, None, [0, 1]):
            try:
                found = near.get_neighbors(atom)
                results[-1].append(repr(found))
            except (IndexError, TypeError) as error:
                results[-1].append((type(error), str(error)))
    assert results[1] == results[0]


def test_neighbors_asked_for_again_are_those_of_the_last_update():
    atoms = Atoms("H3", [[0, 0, 0], [0.9, 0, 0], [5, 0, 0]])
    near = ours.NeighborList([0.5] * 3, skin=0.0, self_interaction=False, bothways=True)
    near.update(atoms)
    assert near.get_neighbors(0) is near.get_neighbors(-3)
    assert near.get_neighbors(0)[0].tolist() == [1]
    atoms.positions[2, 0] = -0.9
    near.update(atoms)
    assert sorted(near.get_neighbors(0)[0].tolist()) == [1, 2]


def test_coordinates_are_another_name_of_positions():
    atoms = bulk("NaCl", "rocksalt", a=5.6) * 2
    given = {"pbc": atoms.pbc, "cell": atoms.cell}
    for module in (theirs, ours):
        near = module.PrimitiveNeighborList([1.5] * len(atoms), skin=0.2)
        assert near.update(**given, coordinates=atoms.positions)
        assert not near.update(**given, coordinates=atoms.positions + 0.1)
        assert near.update(**given, coordinates=atoms.positions + 0.2)
        near.build(**given, coordinates=atoms.positions)
        assert near.nupdates == 3
        assert near.coordinates.tolist() == atoms.positions.tolist()
    for wrong in ({}, {"positions": atoms.positions, "coordinates": atoms.positions}):
        with pytest.raises(TypeError, match="positions: give them once"):
            near.build(**given, **wrong)
    assert not near.update(**given, positions=atoms.positions, numbers=atoms.numbers)


def test_radii_of_zero_and_below_have_no_neighbors_not_even_themselves():
    atoms = Atoms("H4", [[0, 0, 0], [0.1, 0, 0], [0.2, 0, 0], [0.3, 0, 0]])
    for radii in ([0.0] * 4, [-1.0] * 4, [0.0, 0.06, -0.05, 0.5], 0.0, -1.0, {("H", "H"): 0.0}):
        check(atoms, radii, self_interaction=True)
        check(atoms, radii)


def test_no_atoms_have_no_neighbors():
    i, vectors = ours.neighbor_list("iD", Atoms(), 3.0)
    assert (i.shape, vectors.shape) == ((0,), (0, 3))
    near = ours.NeighborList([])
    assert near.update(Atoms())
    assert (near.nl.neighbors, near.nl.displacements) == ([], [])


def test_wrong_arguments_name_what_is_wrong():
    atoms = molecule("H2O")
    with pytest.raises(ValueError, match="quantities: 'x' is none of i, j, d, D and S"):
        ours.neighbor_list("ix", atoms, 1.0)
    with pytest.raises(ValueError, match="cutoff: 2 radii for 3 atoms"):
        ours.neighbor_list("i", atoms, [1.0, 2.0])
    with pytest.raises(ValueError, match="Wrong number of cutoff radii: 1 != 3"):
        ours.NeighborList([1.0]).update(atoms)
    with pytest.raises(ValueError, match="by elements, and numbers is None"):
        ours.primitive_neighbor_list("i", [0, 0, 0], np.eye(3), atoms.positions, {(1, 1): 2.0})
