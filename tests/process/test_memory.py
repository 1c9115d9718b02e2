"""Memory: nothing grows from call to call, and a call takes little besides its result."""

import pytest

from cases import METHOD_NAMES, run_script

START = """
import resource, sys, numpy as np, broadphase as bp
from broadphase.testing import make_scene

def resident():
    if sys.platform == "linux":
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

def growth(work, times):
    for _ in range(times // 4 + 3):
        work()
    before = resident()
    for _ in range(times):
        work()
    return resident() - before
"""

CALLS = """
boxes, other = make_scene("uniform", 8000), make_scene("uniform", 8000, seed=8)
options = dict(method=METHOD, workers=WORKERS)
bad = boxes.copy()
bad[-1] = np.nan

def refused(*args, **kwargs):
    try:
        bp.pairs(*args, **kwargs)
    except (ValueError, RuntimeError):
        return
    raise AssertionError("not refused")

print(
    growth(lambda: bp.pairs(boxes, **options), 40),
    growth(lambda: bp.pairs(boxes, other, sort=True, **options), 30),
    growth(lambda: bp.count_pairs(boxes, layer=3, mask=1, **options), 40),
    growth(lambda: sum(map(len, bp.iter_pairs(boxes, chunk=3000, **options))), 40),
    growth(lambda: next(bp.iter_pairs(boxes, chunk=3000, **options)), 40),
    growth(lambda: refused(bad, **options), 40),
    growth(lambda: refused(boxes, max_pairs=1000, **options), 40),
    growth(lambda: bp.pairs(boxes[:100], ignore_pairs=[[0, 1]], **options), 5000),
)
"""


# Of two workers the calling thread is one, so that they use all that one uses.
@pytest.mark.parametrize(("method", "workers"), [("auto", 1), *((method, 2) for method in METHOD_NAMES)])
def test_nothing_grows_from_call_to_call(method, workers):
    script = START + CALLS.replace("METHOD", repr(method)).replace("WORKERS", str(workers))
    growths = [int(word) for word in run_script(script).split()]
    assert len(growths) == 8
    # Leaking a copy of the boxes or of the pairs in each call would cost 5 MB or more, an object of 64 bytes 300 kB.
    assert all(growth < 4_000_000 for growth in growths[:-1]), growths
    assert growths[-1] < 250_000, growths


@pytest.mark.parametrize("name", ["uniform", "rects", "power", "clusters", "flat", "sticks", "lognormal"])
def test_scratch_memory_is_within_64_bytes_a_box(name):
    script = (
        START
        + """
n = 500_000
boxes = make_scene(NAME, n)
bp.count_pairs(boxes[:20_000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
bp.count_pairs(boxes)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 // n)
"""
    )
    bytes_a_box = int(run_script(script.replace("NAME", repr(name))))
    assert bytes_a_box <= 64
