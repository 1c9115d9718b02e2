"""Distances of shapes in space against two other libraries; where those differ, an oracle judges."""

import pytest

from narrow_3d_cases import FORMS, PAIRS_OF_KINDS, Coal, Fcl
from narrow_3d_checks import check_library

every_pair = pytest.mark.parametrize("kinds", PAIRS_OF_KINDS, ids="-".join)


@every_pair
def test_distances_equal_those_of_coal(kinds):
    coal = Coal(pytest.importorskip("coal"))
    for form in FORMS:
        wrong = check_library(coal, [2], kinds, form, 150)
        assert wrong <= 20, f"{form}: it cannot be that wrong"


@every_pair
def test_distances_equal_those_of_fcl(kinds):
    if "TRIANGLE" in kinds:
        pytest.skip("fcl knows no distance of triangles")
    fcl = Fcl(pytest.importorskip("fcl"))
    for form in FORMS:
        wrong = check_library(fcl, [3], kinds, form, 150)
        assert wrong <= 60, f"{form}: it cannot be that wrong"
