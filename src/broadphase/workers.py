"""What ``workers=`` means, for every function that has it."""

import os

from broadphase.arguments import as_whole
from broadphase.errors import quoted

__all__ = ["worker_count"]

_MOST_WORKERS = 1024


def worker_count(workers: int) -> int:
    """Turn the argument into a number of threads: -1 into one for each core that this process may run on."""
    if type(workers) is int and workers > 0:
        return min(workers, _MOST_WORKERS)
    workers = as_whole(workers, "workers")
    if workers < -1 or workers == 0:
        raise ValueError(f"workers must be a positive number, or -1 for one per core, not {quoted(workers)}")
    if workers == -1:
        # Python 3.13 has os.process_cpu_count; the cores this process may run on are what counts.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(workers, _MOST_WORKERS)
