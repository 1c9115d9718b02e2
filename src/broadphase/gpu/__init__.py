"""Searches on a GPU: arrays of torch, CuPy, JAX and Warp in and out.

`broadphase.pairs` and `broadphase.count_pairs` also take arrays on a CUDA device, and return arrays of the same library
on the same device. This module has what only makes sense there, and the same functions for NumPy arrays, with
``device=``. The kernels need NVIDIA Warp, which is imported with the first of these names:
``pip install 'broadphase[gpu]'``. On ``device="cpu"`` they run without a GPU, in one thread: for tests, not for speed.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broadphase.gpu.arrays import release
    from broadphase.gpu.explanation import DeviceExplanation, explain
    from broadphase.gpu.index import Index, PaddedRows, QueryRows
    from broadphase.gpu.points import PaddedNeighbors, neighbors
    from broadphase.gpu.searches import count_pairs, pairs

__all__ = [
    "DeviceExplanation", "Index", "PaddedNeighbors", "PaddedRows", "QueryRows", "count_pairs", "explain", "neighbors",
    "pairs", "release",
]  # fmt: skip

_HOMES = {
    "arrays": "release",
    "explanation": "DeviceExplanation explain",
    "index": "Index PaddedRows QueryRows",
    "points": "PaddedNeighbors neighbors",
    "searches": "count_pairs pairs",
}
_MODULE_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return globals().setdefault(name, getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name))


def __dir__() -> list[str]:
    return list(__all__)
