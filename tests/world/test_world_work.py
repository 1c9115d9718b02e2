"""What steps of worlds look at, counted: scenes on which they looked at far more than there is."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.index.box_index import BoxIndex
from broadphase.testing.recipes import Recipe


@pytest.fixture
def found(monkeypatch):
    """List how many boxes each query of an index finds."""
    counts, near_boxes = [], BoxIndex._near_boxes

    def counted(index, *given):
        result = near_boxes(index, *given)
        counts.append(len(result.rows))
        return result

    monkeypatch.setattr(BoxIndex, "_near_boxes", counted)
    return counts


def test_a_few_needles_that_move_find_few_others(found):
    # Beyond the boxes of needles, the tree must not reach as far in all directions as along them.
    n, few = 5000, 50
    boxes = Recipe(3, 1, axis_spread=4.0).boxes(n, 7, "float64")
    centers, sizes = boxes.mean(axis=1), boxes[:, 1] - boxes[:, 0]
    world = bp.World(3)
    world.add_many(bp.AABB(sizes), centers)
    world.velocities[:few] = np.random.default_rng(1).uniform(-0.1, 0.1, (few, 3)) * sizes[:few]
    for _ in range(100):
        world.velocities[:few] *= -1
        frame = world.step(1.0)
    assert len(frame.pairs)
    assert sum(found) < 500_000  # 230,000; 8 million when margins were a tenth of the length all around


@pytest.mark.parametrize("batches", [1, 3])
def test_margins_that_are_far_too_wide_become_narrower(batches):
    n, few = 4000, 40
    world, other = bp.World(3, margin=20.0), bp.World(3, method="brute_force")
    for each in (world, other):
        rng = np.random.default_rng(2)
        each.add_many(bp.Sphere(0.5), rng.uniform(0, 16, (n, 3)), batch=np.arange(n) % batches)
        each.velocities[:few] = rng.uniform(-0.1, 0.1, (few, 3))
    for _ in range(12):
        frame = world.step(1.0)
        assert np.array_equal(frame.pairs, other.step(1.0).pairs)
        assert frame.stats["candidates"] < 20_000  # all bodies are as near to each other as the margins reach: 160,000
