"""Arrays that another thread writes to during a call: a result, or an error that is public."""

import threading

import numpy as np
import pytest

import broadphase as bp


class Writer:
    """Writes NaN to rows of an array and puts them right again, until the block ends."""

    def __init__(self, array):
        self.array, self.good, self.done = array, array.copy(), threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        rng = np.random.default_rng(0)
        while not self.done.is_set():
            row = int(rng.integers(len(self.array)))
            self.array[row] = np.nan
            self.array[row] = self.good[row]

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


def outcomes(calls, array):
    """Make calls while another thread writes to an array; give the types of what they raise."""
    raised = set()
    with Writer(array):
        for _ in range(40):
            for call in calls:
                try:
                    call()
                except Exception as error:
                    raised.add(type(error))
    return raised


def test_world_whose_arrays_change_during_a_step_steps_or_names_a_row():
    world = bp.World(dim=2)
    rng = np.random.default_rng(1)
    world.add_many(bp.Circle(0.5), rng.uniform(0, 60, (3000, 2)), velocities=rng.normal(size=(3000, 2)), rotations=0.5)
    for array in (world.positions, world.rotations):
        calls = (lambda: world.step(0.0), lambda: world.step(1e-9), world.refresh)
        assert outcomes(calls, array) <= {ValueError}
        world.step()
        world.validate()


@pytest.mark.parametrize("method", ["brute_force", "sweep_and_prune", "grid", "auto"])
def test_boxes_that_change_during_a_call_give_pairs_or_an_error_that_is_public(method):
    corners = np.random.default_rng(2).uniform(0, 30, (800 if method == "brute_force" else 3000, 2))
    boxes = np.stack([corners, corners + 1], axis=1)
    index = {"brute_force": bp.BruteForce, "sweep_and_prune": bp.SweepAndPrune, "grid": bp.Grid, "auto": bp.Index}
    asked = index[method](boxes)
    calls = (
        lambda: bp.pairs(boxes, method=method), lambda: bp.count_pairs(boxes, method=method),
        lambda: asked.query(boxes), lambda: list(bp.iter_pairs(boxes, method=method)),
    )  # fmt: skip
    assert outcomes(calls, boxes) <= {bp.errors.InvalidBoxError}
