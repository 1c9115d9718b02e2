"""The recipes for other engines find each pair once."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from box_files import expected_pairs, scattered, table_of, write_files
from broadphase import scale
from broadphase.scale.planning import divide

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "scale_engines.py"
BOXES = scattered(1500)
BOXES[:20, 0], BOXES[:20, 1] = -1.0, 2.0  # these meet all tiles
PLAN = divide(BOXES[:, 0], BOXES[:, 1], len(BOXES), 100)
COLUMNS = scale.BoxColumns()


@pytest.fixture(scope="module")
def recipes() -> ModuleType:
    if not EXAMPLE.exists():
        pytest.skip("the examples are not there")
    specification = importlib.util.spec_from_file_location("scale_engines", EXAMPLE)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    assert specification.loader is not None
    specification.loader.exec_module(module)
    return module


def rows_of(table: Any) -> list[tuple[int, int]]:
    return sorted(zip(table["first"].to_pylist(), table["second"].to_pylist(), strict=True))


def test_plan_of_these_tests_has_tiles_and_wide_boxes() -> None:
    assigned = scale.assign(table_of(BOXES), PLAN, COLUMNS)
    assert PLAN.tile_count > 10
    assert np.count_nonzero(assigned["tile"].to_numpy() == scale.WIDE) >= 20


@pytest.mark.filterwarnings("ignore::DeprecationWarning:dask")
def test_recipe_for_dask_gives_each_pair_once(recipes: ModuleType, tmp_path: Path) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    write_files(tmp_path / "boxes", BOXES)
    found = recipes.pairs_in_dask(dd.read_parquet(tmp_path / "boxes"), PLAN, COLUMNS).compute(scheduler="threads")
    assert sorted(zip(found["first"], found["second"], strict=True)) == expected_pairs(BOXES)


def test_recipe_for_duckdb_gives_each_pair_once(recipes: ModuleType, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    files = write_files(tmp_path / "boxes", BOXES)
    with duckdb.connect() as connection:
        query = f"SELECT * FROM read_parquet('{files}')"
        tables = list(recipes.pairs_in_duckdb(connection, query, PLAN, COLUMNS))
    assert sorted(pair for table in tables for pair in rows_of(table)) == expected_pairs(BOXES)


@pytest.mark.filterwarnings("ignore")  # Spark warns of pandas, and leaves sockets open
def test_recipe_for_spark_gives_each_pair_once(
    recipes: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    write_files(tmp_path / "boxes", BOXES)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    try:
        found = recipes.pairs_in_spark(spark.read.parquet(str(tmp_path / "boxes")), PLAN, COLUMNS).toArrow()
    finally:
        spark.stop()
    assert rows_of(found) == expected_pairs(BOXES)
