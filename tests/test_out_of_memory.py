"""Too little memory: `MemoryError`, and everything as it was before the call."""

import os

import pytest

from cases import METHOD_NAMES, run_script

SCRIPT = """
import resource, numpy as np, broadphase as bp
boxes = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (10_000, 2, 2)).copy()  # 400 MB of pairs
before = boxes.copy()
small = bp.pairs(boxes[:2000], method=METHOD, workers=2, sort=True)
with open("/proc/self/statm") as file:
    limit = int(file.read().split()[0]) * resource.getpagesize() + 150_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for workers in (1, 2):
    for sort in (False, True):
        try:
            bp.pairs(boxes, method=METHOD, workers=workers, sort=sort)
        except MemoryError:
            print("refused")
    assert np.array_equal(boxes, before)
    assert np.array_equal(bp.pairs(boxes[:2000], method=METHOD, workers=workers, sort=True), small)
    assert bp.count_pairs(boxes, method=METHOD, workers=workers) == 10_000 * 9_999 // 2
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="address space can be limited on Linux only")
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_pairs_that_do_not_fit_raise_memory_error(method):
    # Otherwise each new thread may reserve 128 MB of address space for itself.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    assert run_script(SCRIPT.replace("METHOD", repr(method)), environment=environment).split() == ["refused"] * 4
