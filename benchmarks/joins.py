"""Joins of tables, and sets of intervals: `bp.join` and `bp.intervals` beside polars-bio, bioframe, pandas and others.

Two tables of intervals on 24 chromosomes, or of events and quotes of 24 symbols. All libraries give the same result, or
the run stops; times are medians of interleaved runs on one core. ncls has no tables and no chromosomes: it is given the
intervals alone, and so are `bp.pairs` beside it. pandas and polars are given sorted tables, which they ask for.

    python -m benchmarks.joins              # two tables of 500,000 rows: some minutes
    python -m benchmarks.joins --quick      # of 50,000 rows
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import broadphase as bp
from benchmarks.measuring import describe_machine, load, median_times, one_core
from benchmarks.tables import duration, factor, grouped, show_table

CHROMOSOMES = np.array([f"chr{number}" for number in range(1, 25)])
LENGTH = 100_000_000
COLUMNS = ["chrom", "start", "end"]
ENDS: Any = {"lower": "start", "upper": "end", "closed": "left"}
BY: Any = {**ENDS, "by": "chrom"}

Calls = dict[str, Callable[[], Any]]


def columns(seed: int, count: int, size: int) -> dict[str, NDArray[Any]]:
    """Make random intervals, half-open, `size` long on average, as columns of a table."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, LENGTH, count)
    return {
        "chrom": CHROMOSOMES[rng.integers(0, len(CHROMOSOMES), count)],
        "start": start,
        "end": start + 1 + rng.integers(0, 2 * size, count),
        "row": np.arange(count),
    }


def rows_of(first: Any, second: Any) -> NDArray[np.int64]:
    """Return pairs of rows in lexicographic order."""
    pairs = np.stack([np.asarray(first, np.int64), np.asarray(second, np.int64)], axis=1)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def require_equal(found: dict[str, NDArray[np.int64]]) -> int:
    """Return the number of pairs; raise RuntimeError if two libraries found other ones."""
    (name, expected), *others = found.items()
    for other, pairs in others:
        if not np.array_equal(pairs, expected):
            raise RuntimeError(f"{other} has {len(pairs)} pairs, or others than the {len(expected)} of {name}")
    return len(expected)


def joins(count: int, size: int) -> tuple[Calls, int]:
    """Return calls that join two tables by chromosome, and the number of rows of each result."""
    polars, pandas = load("polars"), load("pandas")
    bioframe, polars_bio = load("bioframe"), load("polars_bio", "polars-bio")
    given = [columns(seed, count, size) for seed in (1, 2)]
    left, right = (polars.DataFrame(one) for one in given)
    left_frame, right_frame = (pandas.DataFrame(one) for one in given)
    for table in (left, right):
        table.config_meta.set(coordinate_system_zero_based=True)

    def by_polars_bio() -> Any:
        return polars_bio.overlap(left, right, cols1=COLUMNS, cols2=COLUMNS, output_type="polars.DataFrame")

    calls: Calls = {
        "bp.join, polars": lambda: bp.join(left, right, **BY),
        "bp.join, pandas": lambda: bp.join(left_frame, right_frame, **BY),
        "polars-bio": by_polars_bio,
        "bioframe": lambda: bioframe.overlap(left_frame, right_frame, how="inner"),
    }
    names = {"polars-bio": ("row_1", "row_2"), "bioframe": ("row", "row_")}
    found = {}
    for name, call in calls.items():
        table = call()
        first, second = names.get(name, ("row", "row_right"))
        found[name] = rows_of(table[first], table[second])
    return calls, require_equal(found)


def searches(count: int, size: int) -> tuple[Calls, int]:
    """Return calls that find the rows of overlapping intervals, and the number of pairs."""
    ncls = load("ncls")
    given = [columns(seed, count, size) for seed in (1, 2)]
    # ncls takes half-open intervals; of whole numbers, those that share one are closed ones that end before.
    arrays = [(one["start"], one["end"], one["row"]) for one in given]

    def by_ncls() -> Any:
        return ncls.NCLS(*arrays[1]).all_overlaps_both(*arrays[0])

    def boxes(dtype: Any) -> list[NDArray[Any]]:
        return [np.stack([start, end], axis=1).astype(dtype)[:, :, np.newaxis] for start, end, _ in arrays]

    floats, small = boxes(np.float64), boxes(np.float32)
    calls: Calls = {
        "bp.pairs, float64": lambda: bp.pairs(*floats, touching=False),
        "bp.count_pairs, float64": lambda: bp.count_pairs(*floats, touching=False),
        "bp.pairs, float32": lambda: bp.pairs(*small, touching=False),
        "ncls": by_ncls,
    }
    found = {
        "bp.pairs": rows_of(*calls["bp.pairs, float64"]().T),
        "ncls": rows_of(*by_ncls()),
    }
    return calls, require_equal(found)


def nearest(count: int, size: int) -> tuple[Calls, int]:
    """Return calls that find the nearest interval of the same chromosome, and the number of rows."""
    pandas, bioframe = load("pandas"), load("bioframe")
    left, right = (pandas.DataFrame(columns(seed, count, size)) for seed in (1, 2))
    options = {**BY, "how": "nearest", "distance": True}
    calls: Calls = {
        "bp.join": lambda: bp.join(left, right, **options),
        "bioframe": lambda: bioframe.closest(left, right),
        "bp.join, k=3": lambda: bp.join(left, right, **options, k=3),
        "bioframe, k=3": lambda: bioframe.closest(left, right, k=3),
    }
    # Which of several at one distance is the nearest is not the same everywhere.
    require_equal({name: rows_of(t["row"], t["distance"]) for name, t in ((x, calls[x]()) for x in list(calls)[:2])})
    require_equal({name: rows_of(t["row"], t["distance"]) for name, t in ((x, calls[x]()) for x in list(calls)[2:])})
    return calls, count


def without_partner(count: int, size: int) -> tuple[Calls, int]:
    """Return calls that find the rows that overlap none, and how many there are."""
    polars, pandas, bioframe = load("polars"), load("pandas"), load("bioframe")
    given = [columns(seed, count, size) for seed in (1, 2)]
    left, right = (polars.DataFrame(one) for one in given)
    left_frame, right_frame = (pandas.DataFrame(one) for one in given)
    calls: Calls = {
        "bp.join, polars": lambda: bp.join(left, right, **BY, how="anti"),
        "bp.join, pandas": lambda: bp.join(left_frame, right_frame, **BY, how="anti"),
        "bioframe": lambda: bioframe.setdiff(left_frame, right_frame),
    }
    return calls, require_equal({name: rows_of(t["row"], t["row"]) for name, t in ((x, f()) for x, f in calls.items())})


def last_before(count: int, size: int) -> tuple[Calls, int]:
    """Return calls that find the last quote of a symbol at each event or before it, and the number of events."""
    polars, pandas = load("polars"), load("pandas")
    rng = np.random.default_rng(3)
    given = []
    for name in ("event", "quote"):
        time = np.sort(rng.choice(LENGTH * size, count, replace=False))
        given.append({"symbol": CHROMOSOMES[rng.integers(0, 24, count)], "time": time, name: np.arange(count)})
    left, right = (polars.DataFrame(one) for one in given)
    left_frame, right_frame = (pandas.DataFrame(one) for one in given)
    options: Any = {"lower": "time", "upper": "time", "by": "symbol", "how": "nearest", "direction": "backward"}
    calls: Calls = {
        "bp.join, polars": lambda: bp.join(left, right, **options),
        "bp.join, pandas": lambda: bp.join(left_frame, right_frame, **options),
        "polars.join_asof": lambda: left.join_asof(right, on="time", by="symbol", check_sortedness=False),
        "pandas.merge_asof": lambda: pandas.merge_asof(left_frame, right_frame, on="time", by="symbol"),
    }
    found = {}
    for name, call in calls.items():
        table = call()
        quotes = table["quote"].fill_null(-1) if name.count("polars") else table["quote"].fillna(-1)
        found[name] = rows_of(table["event"], quotes)
    return calls, require_equal(found)


def sets(count: int, size: int) -> dict[str, tuple[Calls, int]]:
    """Return, for each function of sets of intervals, calls that give the same rows, and how many rows."""
    polars, pandas = load("polars"), load("pandas")
    bioframe, polars_bio = load("bioframe"), load("polars_bio", "polars-bio")
    given = [columns(seed, count, size) for seed in (1, 2)]
    ends = {"chrom": CHROMOSOMES, "start": np.zeros(len(CHROMOSOMES), np.int64), "end": np.full(24, LENGTH + 2 * size)}
    tables = [polars.DataFrame(one) for one in (*given, ends)]
    frames = [pandas.DataFrame(one) for one in (*given, ends)]
    for table in tables:
        table.config_meta.set(coordinate_system_zero_based=True)
    view = frames[2].assign(name=CHROMOSOMES)
    by: Any = {"lower": "start", "upper": "end", "by": "chrom"}
    as_polars = {"output_type": "polars.DataFrame"}
    touching = {"min_dist": 1, **as_polars}  # polars-bio unites what is less than that apart
    both = {"cols1": COLUMNS, "cols2": COLUMNS, **as_polars}
    functions: dict[str, tuple[list[str], list[Callable[[], Any]]]] = {
        "merge": (COLUMNS, [
            lambda: bp.intervals.merge(tables[0], **by), lambda: bp.intervals.merge(frames[0], **by),
            lambda: polars_bio.merge(tables[0], cols=COLUMNS, **touching), lambda: bioframe.merge(frames[0]),
        ]),
        "cluster": (["row", "cluster"], [
            lambda: bp.intervals.cluster(tables[0], **by), lambda: bp.intervals.cluster(frames[0], **by),
            lambda: polars_bio.cluster(tables[0], cols=COLUMNS, **touching), lambda: bioframe.cluster(frames[0]),
        ]),
        "coverage": (["row", "coverage"], [
            lambda: bp.intervals.coverage(tables[0], tables[1], **by),
            lambda: bp.intervals.coverage(frames[0], frames[1], **by),
            lambda: polars_bio.coverage(tables[0], tables[1], **both),
            lambda: bioframe.coverage(frames[0], frames[1]),
        ]),
        "subtract": (COLUMNS, [
            lambda: bp.intervals.subtract(tables[0], tables[1], **by),
            lambda: bp.intervals.subtract(frames[0], frames[1], **by),
            lambda: polars_bio.subtract(tables[0], tables[1], **both),
            lambda: bioframe.subtract(frames[0], frames[1]),
        ]),
        "complement": (COLUMNS, [
            lambda: bp.intervals.complement(tables[0], tables[2], **by),
            lambda: bp.intervals.complement(frames[0], frames[2], **by),
            lambda: polars_bio.complement(tables[0], tables[2], cols=COLUMNS, view_cols=COLUMNS, **as_polars),
            lambda: bioframe.complement(frames[0], view),
        ]),
    }  # fmt: skip
    names = ("bp, polars", "bp, pandas", "polars-bio", "bioframe")
    compared = {}
    for function, (wanted, calls) in functions.items():
        found = {name: sorted_rows(call(), wanted) for name, call in zip(names, calls, strict=True)}
        compared[function] = dict(zip(names, calls, strict=True)), require_equal(found)
    return compared


def sorted_rows(table: Any, names: list[str]) -> NDArray[Any]:
    """Return columns of a table of pandas or polars, as numbers, in lexicographic order of the rows."""
    numbers = []
    for name in names:
        values = np.asarray(table[name])
        if name == "cluster":  # which numbers they have differs: the first row of each
            order = np.argsort(np.asarray(table["row"]))
            _, first, which = np.unique(values[order], return_index=True, return_inverse=True)
            values = np.empty_like(first, shape=len(values))
            values[order] = first[which]
        numbers.append(np.unique(values, return_inverse=True)[1] if name == "chrom" else values.astype(np.int64))
    return np.stack(numbers, axis=1)[np.lexsort(numbers[::-1])]


def main() -> None:
    """Run the comparison and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    count = 50_000 if parser.parse_args().quick else 500_000
    warnings.simplefilter("ignore")
    os.environ["POLARS_MAX_THREADS"] = "1"  # read when polars is imported
    print(", ".join(f"{name} {value}" for name, value in describe_machine().items()))
    with one_core():
        for title, make in (("by chromosome, tables to a table", joins), ("one chromosome, arrays to rows", searches)):
            for size in (100, 1000):
                calls, pairs = make(count, size)
                what = f"{title}: 2 x {grouped(count)} rows of {size} on average, {grouped(pairs)} pairs"
                compare(what, calls, 2 * count)
        for title, make in (
            ("the nearest, by chromosome", nearest),
            ("rows that overlap none, by chromosome", without_partner),
            ("the last before, by symbol", last_before),
        ):
            calls, rows = make(count, 100)
            compare(f"{title}: 2 x {grouped(count)} rows, {grouped(rows)} rows", calls, 2 * count)
        for size in (100, 1000):
            for function, (calls, rows) in sets(count, size).items():
                compare(f"{function}: {grouped(count)} rows of {size} on average, to {grouped(rows)}", calls, count)


def compare(what: str, calls: Calls, count: int) -> None:
    """Time calls in turns, and print how long they take."""
    times = {name: timing.milliseconds for name, timing in median_times(calls, budget=20.0).items()}
    ours = next(iter(times.values()))
    rows = [[name, duration(time), f"{1e6 * time / count:.1f}", factor(time / ours)] for name, time in times.items()]
    show_table(["library", "time", "ns a row", "times"], rows, what)


if __name__ == "__main__":
    main()
