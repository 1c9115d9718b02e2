"""Pictures of boxes, indexes, shapes and worlds, drawn with Matplotlib: `broadphase.plot`."""

from broadphase.plotting.figure import plot

__all__ = ["plot"]
