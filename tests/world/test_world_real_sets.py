"""Recorded boxes that move, as a world: pairs of every frame by published checksum, and events that balance."""

import json
from itertools import pairwise

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import checksum


def keys_of(pairs):
    """Tell one pair by one number, in lexicographic order."""
    return (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1]


def put(world, rows, frame):
    """Let the world's rectangles be the boxes of a frame: numbers of float32, whose halves and sums are exact."""
    frame = frame.astype(np.float64)
    lower, upper = frame[:, :2], frame[:, 2:]
    world.set_shapes(rows, bp.Rectangle(*(upper - lower).T))
    world.positions[rows] = (lower + upper) / 2


@pytest.mark.parametrize("method", ["auto", "bvh"])
@pytest.mark.parametrize("name", ["box2d_rain", "box2d_tumbler"])
def test_recorded_frames_have_their_known_pairs_and_events_balance(data_folder, name, method):
    frames = np.load(data_folder / f"{name}.npz")["frames"]
    known = json.loads((data_folder / f"{name}.json").read_text())
    world = bp.World(dim=2, method=method)
    rows = world.add_many(bp.Rectangle(1, 1), np.zeros((frames.shape[1], 2)))
    found = []
    for number, frame in enumerate(frames):
        put(world, rows, frame)
        found.append(world.step())
        touching = found[-1].pairs
        assert len(touching) == known["pairs_per_frame"][number]
        assert checksum(touching) == known["checksum_per_frame"][number]
    for before, now in pairwise(found):
        last, touching, enter, leave, stay = (
            keys_of(pairs) for pairs in (before.pairs, now.pairs, now.enter, now.exit, now.stay)
        )
        assert np.array_equal(enter, np.setdiff1d(touching, last))
        assert np.array_equal(leave, np.setdiff1d(last, touching))
        assert np.array_equal(stay, np.intersect1d(last, touching))
    touched = sum(len(frame.enter) for frame in found) - sum(len(frame.exit) for frame in found)
    assert touched == len(found[-1].pairs)
    world.validate()


def test_what_rests_is_not_tested_again(data_folder):
    frames = np.load(data_folder / "box2d_rain.npz")["frames"]
    world = bp.World(dim=2)
    rows = world.add_many(bp.Rectangle(1, 1), np.zeros((frames.shape[1], 2)))
    put(world, rows, frames[0])
    world.step()
    moved = rows[(frames[1] != frames[0]).any(axis=1)]
    put(world, moved, frames[1][moved])
    frame = world.step()
    assert frame.stats["changed"] == len(moved) < 0.9 * len(rows)
    assert frame.stats["tests"] < frame.stats["candidates"] + 1 <= len(bp.pairs(frames[1])) + 1
