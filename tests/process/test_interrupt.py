"""Ctrl-C: a long call stops soon, and the next one works."""

import pytest

from cases import METHOD_NAMES, run_script

# Equal boxes in one negative group: every pair is a candidate and none is found, for minutes.
SCRIPT = """
import signal, threading, time
import numpy as np
import broadphase as bp

boxes, group = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (400_000, 2, 2)), np.full(400_000, -1)

def stop(name, call, workers, after=0.15):
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(after, interrupt)
    timer.start()
    try:
        call()
        print(name, "finished")
    except KeyboardInterrupt:
        print(name, time.monotonic() - sent[0])
    timer.join()
    assert bp.pairs([[0, 0, 1, 1], [1, 1, 2, 2]], workers=workers).tolist() == [[0, 1]]

"""


CALLS = (
    "bp.pairs(boxes, method=method, group=group)",
    "bp.pairs(boxes, method=method, group=group, sort=True)",
    "bp.count_pairs(boxes, method=method, group=group)",
    "list(bp.iter_pairs(boxes, method=method, group=group))",
)


def seconds_to_stop(calls):
    """Give how long each method takes to stop."""
    seconds = dict(line.split() for line in run_script(SCRIPT + calls).splitlines())
    assert list(seconds) == list(METHOD_NAMES)
    return [float(found) for found in seconds.values()]  # "finished" is no number


@pytest.mark.parametrize("call", CALLS)
def test_every_long_call_stops_at_ctrl_c(call):
    # 100 ms are promised; a busy machine gets two seconds.
    calls = f"for method in {METHOD_NAMES}:\n    stop(method, lambda: {call}, 1)"
    assert max(seconds_to_stop(calls)) < 2


@pytest.mark.parametrize(
    "call",
    [
        "bp.pairs(boxes, method=method, group=group, workers=2)",
        "bp.count_pairs(boxes, boxes, method=method, group=(group, group), workers=2)",
    ],
)
def test_calls_with_workers_or_two_sets_stop_at_ctrl_c(call):
    calls = f"for method in {METHOD_NAMES}:\n    stop(method, lambda: {call}, 2)"
    assert max(seconds_to_stop(calls)) < 2


def test_any_exception_of_a_signal_handler_ends_the_call():
    script = """
import signal, numpy as np, broadphase as bp

class Enough(Exception):
    pass

def handler(number, frame):
    raise Enough

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.15)
boxes = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (400_000, 2, 2))
try:
    bp.count_pairs(boxes, group=np.full(400_000, -1))
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
boxes = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (50_000, 2, 2))
assert bp.count_pairs(boxes, method="brute_force") == 1_249_975_000
signal.setitimer(signal.ITIMER_REAL, 0)
assert rung
"""
    run_script(script)


ROBOTS = """
q = np.zeros((3_000_000, 1))
cart = bp.Articulated([bp.Link("cart", bp.Box(1, 1, 1), joint="prismatic", axis=(1, 0, 0))])
# A surface that the cart slides along, by a step of its distance at a time.
corners = [[-9, -9, 0], [9, -9, 0], [0, 9, 0], [20, 0, -9]]
plate = bp.Obstacles(bp.Shapes(bp.Mesh(corners, [[0, 1, 2], [1, 3, 2]]), [0, 0, 0.5 + 1e-9]))
balls = bp.Obstacles(bp.Shapes(bp.Box(1, 1, 1), np.random.default_rng(0).uniform(2, 9, (3000, 3))))
for workers in (1, 2):
    stop("collides", lambda: [cart.collides(q, balls, workers=workers) for _ in range(20)], workers)
    stop("clearance", lambda: [cart.clearance(q, balls, workers=workers) for _ in range(20)], workers)
    stop("poses", lambda: [cart.poses(q) for _ in range(200)], workers)
    way = np.zeros((2, 1)), np.ones((2, 1))
    for name in ("edges_collide", "first_contact"):
        call = getattr(cart, name)
        stop(name, lambda: call(*way, plate, tolerance=1e-300, workers=workers), workers)
"""


def test_calls_of_robots_stop_at_ctrl_c():
    lines = [line.split() for line in run_script(SCRIPT + ROBOTS).splitlines()]
    assert [name for name, _ in lines] == ["collides", "clearance", "poses", "edges_collide", "first_contact"] * 2
    assert max(float(found) for _, found in lines) < 2  # "finished" is no number
