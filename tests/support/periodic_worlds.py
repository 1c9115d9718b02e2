"""The search of the core for pairs across the seams of a periodic world, as steps use it."""

from broadphase import _native


def periodic_pairs(boxes, bounds, alive, changed=None, wanted=None, workers=1, keys=None):
    """Find the pairs, and what brings the second of each to the image that the first overlaps."""
    row, found, offsets = _native.periodic_pairs(boxes, bounds, alive, changed, wanted, keys, False, workers)
    if row >= 0:
        raise ValueError(f"row {row} is wider than the periodic world")
    return found, offsets
