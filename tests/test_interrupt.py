"""Ctrl-C: a long call stops soon, and the next one works."""

import pytest

from cases import METHOD_NAMES, run_script

# Equal boxes in one negative group: every pair is a candidate and none is found, for a minute or so.
SCRIPT = """
import signal, threading, time
import numpy as np
import broadphase as bp

boxes = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (2_000_000, 2, 2))
options = dict(method=METHOD, workers=WORKERS, group=np.full(2_000_000, -1))
if TWO_SETS:
    boxes, options["group"] = (boxes, boxes), (options["group"], options["group"])
else:
    boxes = (boxes,)
sent = []

def interrupt():
    sent.append(time.monotonic())
    signal.raise_signal(signal.SIGINT)

timer = threading.Timer(SECONDS, interrupt)
timer.start()
try:
    FUNCTION(*boxes, **options)
    print("finished")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - sent[0])
timer.join()
assert bp.pairs([[0, 0, 1, 1], [1, 1, 2, 2]], workers=WORKERS).tolist() == [[0, 1]]
"""

FUNCTIONS = {
    "pairs": "bp.pairs",
    "sorted pairs": "(lambda *args, **options: bp.pairs(*args, sort=True, **options))",
    "count_pairs": "bp.count_pairs",
    "iter_pairs": "(lambda *args, **options: list(bp.iter_pairs(*args, **options)))",
}


def seconds_to_stop(function, method, workers, two_sets=False, after=0.4):
    script = SCRIPT.replace("METHOD", repr(method)).replace("WORKERS", str(workers))
    script = (
        script.replace("TWO_SETS", str(two_sets))
        .replace("SECONDS", str(after))
        .replace("FUNCTION", FUNCTIONS[function])
    )
    outcome, *seconds = run_script(script).split()
    assert outcome == "interrupted"
    return float(seconds[0])


@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_long_call_stops_at_ctrl_c(function, method):
    # 100 ms are promised; a busy machine gets two seconds.
    assert seconds_to_stop(function, method, 1) < 2


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_calls_with_workers_or_two_sets_stop_at_ctrl_c(method):
    assert seconds_to_stop("pairs", method, 2) < 2
    assert seconds_to_stop("count_pairs", method, 2, two_sets=True) < 2


def test_any_exception_of_a_signal_handler_ends_the_call():
    script = """
import signal, numpy as np, broadphase as bp

class Enough(Exception):
    pass

def handler(number, frame):
    raise Enough

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
boxes = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (2_000_000, 2, 2))
try:
    bp.count_pairs(boxes, group=np.full(2_000_000, -1))
except Enough:
    print("enough")
"""
    assert run_script(script) == "enough\n"


def test_signal_handlers_that_return_let_the_call_go_on():
    script = """
import signal, numpy as np, broadphase as bp
rung = []
signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
boxes = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (100_000, 2, 2))
assert bp.count_pairs(boxes, method="brute_force") == 4_999_950_000
signal.setitimer(signal.ITIMER_REAL, 0)
assert rung
"""
    run_script(script)
