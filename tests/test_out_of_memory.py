"""Too little memory: `MemoryError`, and everything as it was before the call."""

import pytest

from cases import METHOD_NAMES, run_script

SCRIPT = """
import resource, numpy as np, broadphase as bp
boxes = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (20_000, 2, 2)).copy()  # 1.6 GB of pairs
before = boxes.copy()
small = bp.pairs(boxes[:2000], method=METHOD, workers=2, sort=True)
resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
for workers in (1, 2):
    for sort in (False, True):
        try:
            bp.pairs(boxes, method=METHOD, workers=workers, sort=sort)
        except MemoryError:
            print("refused")
    assert np.array_equal(boxes, before)
    assert np.array_equal(bp.pairs(boxes[:2000], method=METHOD, workers=workers, sort=True), small)
    assert bp.count_pairs(boxes, method=METHOD, workers=workers) == 20_000 * 19_999 // 2
"""


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_pairs_that_do_not_fit_raise_memory_error(method):
    script = SCRIPT.replace("METHOD", repr(method)).replace("BYTES", str(1 << 30))
    assert run_script(script).split() == ["refused"] * 4
