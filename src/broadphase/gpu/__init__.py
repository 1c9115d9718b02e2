"""Searches on a GPU: arrays of torch, CuPy, JAX and Warp in and out.

`broadphase.pairs` and `broadphase.count_pairs` also take arrays on a CUDA device, and return arrays of the same library
on the same device. This module has what only makes sense there, and the same functions for NumPy arrays, with
``device=``. The kernels need NVIDIA Warp: ``pip install 'broadphase[gpu]'``. On ``device="cpu"`` they run without a
GPU, in one thread: for tests, not for speed.
"""

from broadphase.gpu.arrays import release
from broadphase.gpu.explanation import DeviceExplanation, explain
from broadphase.gpu.index import Index, PaddedRows, QueryRows
from broadphase.gpu.neighbors import PaddedNeighbors, neighbors
from broadphase.gpu.pairs import count_pairs, pairs

__all__ = [
    "DeviceExplanation", "Index", "PaddedNeighbors", "PaddedRows", "QueryRows", "count_pairs", "explain", "neighbors",
    "pairs", "release",
]  # fmt: skip
