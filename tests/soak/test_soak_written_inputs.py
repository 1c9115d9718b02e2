"""Each array argument of each public call, written to by another process or thread for 10 s while the call runs."""

import functools

import pytest

from seeds import seeds
from written_inputs import fault, labels

pytestmark = pytest.mark.soak


@functools.cache
def all_labels():
    return labels()


def test_calls_survive_inputs_that_are_written_meanwhile():
    for seed in seeds(len(all_labels())):
        label = all_labels()[seed]
        assert fault(10, label) is None, label
