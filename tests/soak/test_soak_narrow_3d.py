"""Full numbers for the narrow phase in space: a hundred thousand pairs and more of every two kinds, in hard forms."""

import pytest

from narrow_3d_cases import FORMS, KINDS, PAIRS_OF_KINDS, Coal, Fcl
from narrow_3d_checks import (
    check_contacts,
    check_distances,
    check_impacts,
    check_library,
    check_oracle,
    check_rays,
    check_touching,
)
from seeds import seeds

pytestmark = pytest.mark.soak
every_pair = pytest.mark.parametrize("kinds", PAIRS_OF_KINDS, ids="-".join)


def portions(question, full, portion):
    """Cases in portions, each with a form and a seed of its own."""
    for number in seeds(full // portion):
        yield [question, number], FORMS[number % len(FORMS)]


@every_pair
def test_a_million_distances_are_the_greatest_gaps(kinds):
    for seed, form in portions(10, 1_000_000, 10_000):
        check_distances(seed, kinds, form, 10_000)


@every_pair
def test_what_touches_on_a_lattice_overlaps_in_a_million_cases(kinds):
    for seed, _ in portions(17, 1_000_000, 10_000):
        check_touching(seed, kinds, 10_000)


@every_pair
def test_ten_thousand_distances_equal_the_oracle(kinds):
    for seed, form in portions(11, 10_000, 100):
        check_oracle(seed, kinds, form, 100)


@every_pair
def test_a_hundred_thousand_distances_equal_those_of_coal(kinds):
    coal = Coal(pytest.importorskip("coal"))
    for seed, form in portions(12, 100_000, 1000):
        assert check_library(coal, seed, kinds, form, 1000) <= 100


@every_pair
def test_a_hundred_thousand_distances_equal_those_of_fcl(kinds):
    if "TRIANGLE" in kinds:
        pytest.skip("fcl knows no distance of triangles")
    fcl = Fcl(pytest.importorskip("fcl"))
    for seed, form in portions(13, 100_000, 1000):
        assert check_library(fcl, seed, kinds, form, 1000) <= 300


@every_pair
def test_a_million_contacts_lie_in_both(kinds):
    for seed, form in portions(14, 1_000_000, 10_000):
        check_contacts(seed, kinds, form, 10_000)


@every_pair
def test_a_hundred_thousand_impacts_are_when_the_distance_comes_down_to_0(kinds):
    for seed, form in portions(15, 100_000, 5000):
        check_impacts(seed, kinds, form, 5000)


@pytest.mark.parametrize("kind", KINDS)
def test_a_million_rays_equal_closed_forms(kind):
    for seed, form in portions(16, 1_000_000, 10_000):
        check_rays(seed, kind, form, 10_000)
