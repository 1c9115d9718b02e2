"""Full numbers: a quarter of a million pairs of shapes on a lattice."""

import pytest

from seeds import seeds
from test_contacts_lattice import check_scene

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("dimension", [2, 3])
def test_shapes_on_a_lattice_are_as_far_apart_as_plain_numpy_says(dimension):
    for seed in seeds(1250):
        check_scene(dimension, seed, 100)
