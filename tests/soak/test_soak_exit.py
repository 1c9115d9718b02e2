"""The interpreter ends while a daemon thread is inside a call, many times for each call: no crash, no message."""

import pytest

import exiting
from seeds import seeds
from test_exit import end_inside

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("call", exiting.CALLS)
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_exit_with_daemon_threads_in_one_call_is_quiet(call, workers):
    for _ in seeds(5):
        assert end_inside(workers, call, call) == (0, "")
