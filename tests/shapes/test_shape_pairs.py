"""All ordered pairs of types of shapes, in hard positions: finite, symmetric, and as the oracle has it."""

import pytest

from shape_pairs import FORMS, ORDERED, TYPES, check_pairs


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", [2, 3])
def test_distances_contacts_and_overlaps_of_any_two_types_agree(d, form):
    total = 0
    for dim, first, second in ORDERED:
        # Each pair is checked in both orders; only in this form the second is drawn by the first.
        if dim == d and (form == "corners" or TYPES[d].index(first) <= TYPES[d].index(second)):
            total += check_pairs(d, first, second, form, 0, 8, 1)
    assert total > 50
