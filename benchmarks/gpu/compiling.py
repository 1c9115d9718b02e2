"""What the device is, and all kernels compiled for it at once, on all cores, so that the other parts only load them."""

from __future__ import annotations

import os
import time
from typing import Any

from benchmarks.gpu.devices import facts, require, warp
from benchmarks.gpu.parts import Record, Setting, Task

TABLE = "Kernels"


def tasks(setting: Setting) -> list[Task]:
    """Return the tasks."""
    return [
        Task("the device", lambda record: tell(record, setting)),
        Task("kernels", lambda record: build(record, setting)),
    ]


def tell(record: Record, setting: Setting) -> None:
    """Write down what the device is."""
    record.facts = facts(setting)


def modules() -> list[Any]:
    """Return all modules of kernels, of broadphase and of the benchmarks."""
    from benchmarks.gpu import kernels
    from broadphase.gpu import index_kernels, neighbors_kernels, pairs_kernels, tree_kernels

    wp = warp()
    made = [neighbors_kernels.result_kernels(), pairs_kernels.row_kernels()]
    made += [neighbors_kernels.neighbor_kernels(dim) for dim in (2, 3)]
    for kind in (wp.float32, wp.float64):
        for dim in (2, 3):
            made += [neighbors_kernels.filing_kernels(dim, kind)]
            made += [tree_kernels.tree_kernels(dim, kind), pairs_kernels.pairs_kernels(dim, kind)]
            made += [index_kernels.index_kernels(dim, kind)]
    return [*(one.module for one in made), wp.get_module(kernels.__name__)]


def build(record: Record, setting: Setting) -> None:
    """Compile the kernels."""
    setting.require_cuda()  # on the CPU, each part compiles the few that it needs
    all_of_them, start = modules(), time.perf_counter()
    warp().force_load(require(setting.device), all_of_them, max_workers=os.cpu_count() or 1)
    record.row(TABLE, modules=len(all_of_them), seconds=time.perf_counter() - start)
