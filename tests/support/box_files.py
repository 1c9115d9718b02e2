"""Files of boxes for the tests of broadphase.scale, and what is to be found in them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from broadphase.testing import oracle

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

AXES = "xyz"


def table_of(boxes: np.ndarray, first_id: int = 0, ids: Any = None, **more: Any) -> Any:
    corners = {f"{AXES[k]}{s}": boxes[:, s, k] for s in (0, 1) for k in range(3)}
    return pa.table({"id": np.arange(first_id, first_id + len(boxes)) if ids is None else ids, **corners, **more})


def scattered(count: int, seed: int = 0, size: float = 0.08) -> np.ndarray:
    rng = np.random.default_rng(seed)
    lower = rng.random((count, 3))
    return np.stack([lower, lower + size * rng.random((count, 3))], axis=1).astype(np.float32)


def write_files(folder: Path, boxes: np.ndarray, files: int = 4, **options: Any) -> str:
    folder.mkdir()
    step = -(-len(boxes) // files) or 1
    for k in range(files):
        part = boxes[k * step : (k + 1) * step]
        parquet.write_table(table_of(part, k * step), folder / f"{k}.parquet", row_group_size=300, **options)
    return str(folder / "*.parquet")


def pairs_in(folder: Path) -> list[tuple[Any, Any]]:
    table = parquet.read_table(folder)
    return sorted(zip(table["first"].to_pylist(), table["second"].to_pylist(), strict=True))


def expected_pairs(boxes: np.ndarray, other: np.ndarray | None = None) -> list[tuple[int, int]]:
    return sorted(tuple(pair) for pair in np.asarray(oracle.pairs(boxes, other)).tolist())


def changed_file(folder: Path, row: int, column: str, value: Any) -> None:
    """Change one cell of the eighth file."""
    table = parquet.read_table(folder / "7.parquet")
    values = table[column].to_pylist()
    values[row] = value
    field = table.schema.field(column)
    place = table.schema.get_field_index(column)
    parquet.write_table(table.set_column(place, field, pa.array(values, field.type)), folder / "7.parquet")


SCENES = {
    "scattered": scattered(2000),
    "one place": np.repeat(scattered(1), 300, axis=0),
    "two": scattered(2, size=3.0),
    "one": scattered(1),
    "none": scattered(0),
    "sticks": np.concatenate([scattered(700) * np.float32([1, 1, 0.001]) + np.float32([[0, 0, 0], [0, 0, 9]])]),
}
GIANTS = scattered(1500)
GIANTS[:150, 0], GIANTS[:150, 1] = -1.0, 2.0
GIANTS[150:160, 0], GIANTS[160:170, 1] = -math.inf, math.inf
SCENES["giants"] = GIANTS
DENSE = scattered(2000)
DENSE[:1500] = scattered(1500, 1) * np.float32(1e-4) + np.float32(0.5)
SCENES["a dense spot"] = DENSE
