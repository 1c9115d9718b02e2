"""Full numbers: a million questions of each kind to worlds of all shapes, on lattices and off them."""

import pytest

from seeds import seeds
from world_query_cases import check_everything, make_world

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("lattice", [False, True])
@pytest.mark.parametrize("d", [2, 3])
def test_a_million_questions_of_each_kind_are_answered_as_by_trying_every_row(d, lattice):
    for seed in seeds(5000):
        check_everything(*make_world(d, seed, lattice=lattice), 50)
