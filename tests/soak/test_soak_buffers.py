"""Full numbers: damaged buffers of every layout of Arrow, and of array interfaces, offered to all that reads them."""

import pytest

from seeds import seeds
from test_damaged_buffers import check_seeds

pytestmark = pytest.mark.soak


def test_a_million_reads_of_damaged_buffers_answer_or_name_the_column():
    for seed in seeds(200):  # of 500 tables, each read in some twelve ways
        check_seeds(10_000 + 500 * seed, 10_500 + 500 * seed)
