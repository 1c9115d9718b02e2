"""What the tests share: the methods, scenes brought to any dimension, and the comparison with the oracle."""

import subprocess
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import broadphase as bp
from broadphase.methods import METHODS
from broadphase.testing import SCENES, assert_same_pairs, make_scene, oracle

METHOD_NAMES = tuple(sorted({"auto", *(method.name for method in METHODS)}))
DIMENSIONS = (1, 2, 3, 4)
DTYPES = ("float32", "float64")
# Boxes on a device, and what is compiled for CUDA: two axes for both dtypes. On the CPU, tests run all of them.
ON_DEVICE = (2, 3)
SCENES_ON_DEVICE = tuple(name for name, scene in SCENES.items() if scene.dim in ON_DEVICE)
FOR_CUDA = ((2, "float32"), (2, "float64"), (3, "float32"))
INDEXES = (bp.Index, *(getattr(bp, method.index_class) for method in METHODS if method.index_class))
LINEAR_SCENES = tuple(name for name, scene in SCENES.items() if not scene.quadratic)
EACH_INDEX = pytest.mark.parametrize("kind", INDEXES, ids=lambda kind: kind.__name__)


def capabilities_of(kind: type[bp.index.BoxIndex]) -> frozenset[str]:
    """Give what the registry says of a kind of index; `bp.Index` can do what its tree can."""
    return next(row.capabilities for row in METHODS if row.name == ("bvh" if kind is bp.Index else kind.method))


def each_index_with(word: str) -> pytest.MarkDecorator:
    """Try a test on every kind of index that has a capability."""
    able = [kind for kind in INDEXES if word in capabilities_of(kind)]
    return pytest.mark.parametrize("kind", able, ids=lambda kind: kind.__name__)


@lru_cache(maxsize=64)
def scene(name: str, n: int, seed: int = 7, dtype: str = "float32", dimension: int | None = None) -> np.ndarray:
    """Make a standard scene, read-only; with `dimension`, axes are left out, or added from the next seed."""
    boxes = make_scene(name, n, seed=seed, dtype=dtype)
    while dimension is not None and boxes.shape[2] < dimension:
        seed += 1
        boxes = np.concatenate([boxes, make_scene(name, n, seed=seed, dtype=dtype)], axis=2)
    boxes = np.ascontiguousarray(boxes[:, :, :dimension])
    boxes.setflags(write=False)
    return boxes


def check_pairs(
    boxes: Any,
    other: Any = None,
    *,
    label: str = "",
    methods: Iterable[str] = METHOD_NAMES,
    workers: int = 1,
    **options: Any,
) -> np.ndarray:
    """Compare pairs and count of every method with the oracle; gives the oracle's answer."""
    expected = oracle.pairs(boxes, other, **options)
    for method in methods:
        where = f"{label} method={method} workers={workers} {sorted(options)}"
        actual = bp.pairs(boxes, other, method=method, workers=workers, **options)
        assert actual.dtype == np.int32, where
        assert_same_pairs(actual, expected, where)
        assert bp.count_pairs(boxes, other, method=method, workers=workers, **options) == len(expected), where
    return expected


def living_pairs(index: bp.index.BoxIndex, **filters: Any) -> np.ndarray:
    """Give the oracle's pairs of the boxes in an index, by row; filters have one value per slot, or one for all."""
    rows = index.rows
    share = {name: value if np.ndim(value) == 0 else np.asarray(value)[rows] for name, value in filters.items()}
    return rows[oracle.pairs(index.boxes_of(), **share)]


def lattice(rng: np.random.Generator, n: int, dimension: int, dtype: str, reach: int = 4) -> np.ndarray:
    """Make boxes with small integer corners: touching, duplicates, zero size and minus zero are common."""
    lower = rng.integers(-reach, reach + 1, (n, dimension))
    boxes = np.stack([lower, lower + rng.integers(0, 3, (n, dimension))], axis=1).astype(dtype)
    boxes[(boxes == 0) & (rng.random(boxes.shape) < 0.5)] = -0.0
    return boxes


def run_script(script: str, *, timeout: float = 120, environment: dict[str, str] | None = None) -> str:
    """Run Python code in a process of its own and give what it printed.

    On Linux, the peak of memory of a process begins with that of the process that has started it. So a shell starts it.
    """
    command = [sys.executable, "-c", script]
    if sys.platform == "linux":
        command = ["/bin/sh", "-c", '"$@"; exit $?', "sh", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment, check=False)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
