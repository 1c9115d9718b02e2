"""Full numbers: damaged files of every format."""

import pytest

from seeds import seeds
from test_io_damage import check_damage

pytestmark = pytest.mark.soak


def test_two_hundred_thousand_damaged_files_are_read_or_refused_by_name(tmp_path):
    for seed in seeds(20):
        check_damage(tmp_path, seed, 1000)
