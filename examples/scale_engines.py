"""Pairs past memory in Dask, Spark and DuckDB.

`scale.assign` gives boxes to tiles, the engine groups them by tile, and `scale.join` finds the pairs of each tile.

Each function takes the boxes of one set in the form of its engine, a plan such as ``scale.plan("boxes/*.parquet")``,
and the names of the columns as ``scale.BoxColumns``. Boxes that meet very many tiles get tile -1: they are few, and
each tile reads all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from broadphase import scale


def pairs_in_dask(boxes: Any, plan: scale.Plan, columns: scale.BoxColumns) -> Any:
    """Find the pairs of a ``dask.dataframe.DataFrame``; return another one, not yet computed."""
    import dask.dataframe as dd
    import pandas as pd

    def assign(frame: pd.DataFrame) -> pd.DataFrame:
        return scale.assign(pa.Table.from_pandas(frame, preserve_index=False), plan, columns).to_pandas()

    by_tile = boxes.map_partitions(assign, meta=assign(boxes.partitions[0].head(1)).head(0))
    wide = pa.Table.from_pandas(by_tile[by_tile.tile == scale.WIDE].compute(), preserve_index=False)
    wide_pairs = scale.join(wide, plan, scale.WIDE, columns).to_pandas()

    def join(frame: pd.DataFrame) -> pd.DataFrame:
        found = [wide_pairs.head(0)]
        for tile, rows in frame.groupby("tile"):
            table = pa.Table.from_pandas(rows, preserve_index=False)
            found.append(scale.join(table, plan, int(tile), columns, left_wide=wide).to_pandas())
        return pd.concat(found, ignore_index=True)

    others = by_tile[by_tile.tile != scale.WIDE].shuffle("tile", npartitions=max(boxes.npartitions, 1))
    return dd.concat([others.map_partitions(join, meta=wide_pairs.head(0)), dd.from_pandas(wide_pairs, npartitions=1)])


def pairs_in_spark(boxes: Any, plan: scale.Plan, columns: scale.BoxColumns) -> Any:
    """Find the pairs of a ``pyspark.sql.DataFrame`` (Spark 4); return another one, not yet computed."""
    from pyspark.sql.pandas.types import from_arrow_schema

    def assign(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from scale.assign(pa.Table.from_batches([batch]), plan, columns).to_batches()

    empty = scale.assign(boxes.limit(0).toArrow(), plan, columns)
    by_tile = boxes.mapInArrow(assign, from_arrow_schema(empty.schema)).cache()
    wide = by_tile.filter(by_tile.tile == scale.WIDE).toArrow()
    wide_pairs = scale.join(wide, plan, scale.WIDE, columns)

    def join(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return scale.join(table, plan, key[0].as_py(), columns, left_wide=wide)

    schema = from_arrow_schema(wide_pairs.schema)
    found = by_tile.filter(by_tile.tile != scale.WIDE).groupBy("tile").applyInArrow(join, schema)
    return found.union(boxes.sparkSession.createDataFrame(wide_pairs, schema))


def pairs_in_duckdb(connection: Any, query: str, plan: scale.Plan, columns: scale.BoxColumns) -> Iterator[pa.Table]:
    """Find the pairs of what a query of DuckDB returns, one table for each tile.

    The boxes by tile are a temporary table of the connection, which DuckDB keeps on the disk where memory is short.
    """
    found = connection.cursor().sql(query).to_arrow_reader(1 << 20)
    connection.register("assigned", scale.assign(found.schema.empty_table(), plan, columns))
    connection.execute("CREATE OR REPLACE TEMP TABLE by_tile AS SELECT * FROM assigned")
    for batch in found:
        connection.register("assigned", scale.assign(pa.Table.from_batches([batch]), plan, columns))
        connection.execute("INSERT INTO by_tile SELECT * FROM assigned")

    def rows_of(tile: int) -> pa.Table:
        return connection.sql(f"SELECT * FROM by_tile WHERE tile = {tile}").to_arrow_table()

    wide = rows_of(scale.WIDE)
    yield scale.join(wide, plan, scale.WIDE, columns)
    for tile in range(plan.tile_count):
        yield scale.join(rows_of(tile), plan, tile, columns, left_wide=wide)
    connection.unregister("assigned")
    connection.execute("DROP TABLE by_tile")
