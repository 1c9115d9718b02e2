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
        theirs.NeighborList(radii, primitive=theirs.NewPrimitiveNeighborList, **options),
        ours.NeighborList(radii, **options),
    ]
    for step in range(8):
        assert len({near.update(atoms) for near in lists}) == 1, step
        for atom in range(len(atoms)):
            (expected, shifts), (found, our_shifts) = (near.get_neighbors(atom) for near in lists)
            key, our_key = (np.column_stack([a, b]).tolist() for a, b in ((expected, shifts), (found, our_shifts)))
            assert sorted(our_key) == sorted(key)
        atoms.positions += random.normal(0, 0.06, atoms.positions.shape)
    assert 1 < lists[1].nupdates < 8
    assert lists[1].nupdates == lists[0].nupdates
    assert [len(one) for one in lists[1].nl.neighbors] == [len(lists[1].get_neighbors(a)[0]) for a in range(len(atoms))]


@pytest.mark.parametrize("bothways", [False, True])
@pytest.mark.parametrize("self_interaction", [False, True])
def test_sorted_neighbor_list_ascends_by_atom_as_in_ase(bothways, self_interaction):
    atoms = bulk("NaCl", "rocksalt", a=5.6) * 3
    atoms.rattle(0.2, seed=5)
    for radii in (np.full(len(atoms), 2.4), np.linspace(1.5, 2.6, len(atoms))):
        options = {"sorted": True, "self_interaction": self_interaction, "bothways": bothways}
        expected = theirs.NeighborList(radii, primitive=theirs.NewPrimitiveNeighborList, **options)
        found = ours.NeighborList(radii, **options)
        assert expected.update(atoms)
        assert found.update(atoms)
        for atom in range(len(atoms)):
            assert found.get_neighbors(atom)[0].tolist() == expected.get_neighbors(atom)[0].tolist()
        assert found.nl.pair_first.tolist() == expected.nl.pair_first.tolist()
        assert found.nl.first_neigh.tolist() == expected.nl.first_neigh.tolist()
        for one, other in zip(found.get_neighbors(0), expected.get_neighbors(0), strict=True):
            assert one.dtype.char == other.dtype.char


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
