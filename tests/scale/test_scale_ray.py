"""Pairs of boxes in files, found on Ray: the same as in memory, each once, whatever is lost on the way."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import broadphase as bp
from box_files import SCENES, changed_file, expected_pairs, pairs_in, scattered, table_of, write_files
from broadphase import scale
from broadphase.scale import local, ray as engine
from test_scale_tiles import cases, columns_of, plain_pairs, table_of as lattice_table

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
ray = pytest.importorskip("ray", reason="Ray is not installed")

# Ray warns of its own settings.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")
QUIET = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """One node with two processors, to which this process is connected."""
    from ray.cluster_utils import Cluster

    # A machine that does not answer is busy; one that is not there is found out within two seconds.
    watch = {"health_check_timeout_ms": 120_000, "health_check_period_ms": 400, "health_check_failure_threshold": 5}
    head = {"num_cpus": 2, "object_store_memory": 150_000_000, "include_dashboard": False, "_system_config": watch}
    one = Cluster(initialize_head=True, head_node_args=head)
    ray.init(one.address, **QUIET)
    yield one
    ray.shutdown()
    one.shutdown()


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of a few hundred boxes, and tiles that have to be divided again."""

    def sizes(memory: int, workers: int, rows: int, row_bytes: float) -> local.Sizes:
        return local.Sizes(piece_rows=150, tile_rows=200, chunk_pairs=100, in_memory=False)

    monkeypatch.setattr(local.Sizes, "of", sizes)


@pytest.mark.parametrize("name", SCENES)
def test_pairs_on_ray_are_those_of_the_oracle(name: str, tmp_path: Path, cluster: Any, little_memory: None) -> None:
    boxes = SCENES[name]
    report = scale.pairs(write_files(tmp_path / "boxes", boxes), output=tmp_path / "pairs", engine="ray")
    expected = expected_pairs(boxes)
    assert report.pair_count == len(expected)
    assert report.box_count == len(boxes)
    assert (pairs_in(tmp_path / "pairs") if expected else []) == expected
    assert not (tmp_path / "pairs" / "_scratch").exists()
    assert ray.is_initialized()


def rows_of(dataset: Any) -> list[tuple[Any, Any]]:
    return sorted(
        (row["first"], row["second"]) for table in ray.get(dataset.to_arrow_refs()) for row in table.to_pylist()
    )


@given(cases())
@settings(max_examples=15)
def test_any_plan_on_ray_gives_each_pair_once(cluster: Any, case: tuple[np.ndarray, scale.Plan]) -> None:
    boxes, plan = case
    columns = columns_of(plan.dim)
    if len(boxes) == 0:
        return
    found = scale.pairs(
        ray.data.from_arrow([lattice_table(boxes).slice(0, 5), lattice_table(boxes).slice(5)]),
        output=None,
        engine="ray",
        lower=columns.lower,
        upper=columns.upper,
        plan=plan,
    ).dataset
    assert rows_of(found) == plain_pairs(boxes)


def test_two_sets_on_ray_are_those_of_the_oracle(tmp_path: Path, cluster: Any, little_memory: None) -> None:
    boxes, other = SCENES["scattered"], SCENES["giants"][::2]
    files = write_files(tmp_path / "boxes", boxes), write_files(tmp_path / "other", other)
    scale.pairs(*files, output=tmp_path / "pairs", engine="ray", workers=1)
    assert pairs_in(tmp_path / "pairs") == expected_pairs(boxes, other)


def test_options_and_kept_columns_on_ray_are_those_of_pairs(tmp_path: Path, cluster: Any, little_memory: None) -> None:
    rng = np.random.default_rng(1)
    boxes = scattered(1200, 5, 0.2)
    ids = [f"box {row:04d}" for row in rng.permutation(1200)]
    filters = {"batch": rng.integers(0, 3, 1200), "group": rng.integers(-2, 3, 1200)}
    bits = {"layer": rng.integers(1, 8, 1200).astype(np.uint64), "mask": rng.integers(1, 8, 1200).astype(np.uint64)}
    table = table_of(boxes, ids=ids, weight=rng.random(1200), **filters, **bits)
    blocks = [table.slice(begin, 300) for begin in range(0, 1200, 300)]
    options: dict[str, Any] = {"margin": 0.01, "touching": False}
    names = {name: name for name in (*filters, *bits)}
    report = scale.pairs(
        ray.data.from_arrow(blocks), output=tmp_path / "pairs", engine="ray", keep=["weight"], **names, **options
    )
    weights = dict(zip(ids, table["weight"].to_pylist(), strict=True))
    expected = []
    for i, j in bp.pairs(boxes, **filters, **bits, **options).tolist():
        one, two = sorted([ids[i], ids[j]])
        expected.append((one, two, weights[one], weights[two]))
    found = parquet.read_table(tmp_path / "pairs")
    columns = ("first", "second", "first_weight", "second_weight")
    assert sorted(zip(*(found[name].to_pylist() for name in columns), strict=True)) == sorted(expected)
    assert report.pair_count == len(expected) > 100


@pytest.mark.parametrize(
    ("row", "column", "value", "message"),
    [
        (123, "y0", math.nan, r"7\.parquet, row 123: lower\[1\] is NaN"),
        (99, "x0", 9.0, r"7\.parquet, row 99: lower\[0\] > upper\[0\] \(9\.0 > "),
        (77, "id", None, r"7\.parquet, row 77: column id is empty"),
        (5, "id", 3, r"7\.parquet, row 5: id 3 is that of .*0\.parquet, row 3"),
    ],
)
def test_bad_rows_on_ray_are_named_and_nothing_is_left_behind(
    row: int, column: str, value: Any, message: str, tmp_path: Path, cluster: Any, little_memory: None
) -> None:
    files = write_files(tmp_path / "boxes", scattered(1600), 8)
    changed_file(tmp_path / "boxes", row, column, value)
    with pytest.raises(ValueError, match=message) as error:
        scale.pairs(files, output=tmp_path / "pairs", engine="ray")
    assert type(error.value) in (bp.errors.InvalidBoxError, bp.errors.FileFormatError)
    assert len(str(error.value)) < 400
    assert not (tmp_path / "pairs").exists()


def test_bad_rows_of_a_data_set_are_named(tmp_path: Path, cluster: Any) -> None:
    table = table_of(scattered(1000), ids=[f"b{row % 997}" for row in range(1000)])
    blocks = ray.data.from_arrow([table.slice(0, 400), table.slice(400)])
    with pytest.raises(
        bp.errors.FileFormatError, match=r"the data set, row 99\d: id 'b\d' is that of the data set, row \d, too"
    ):
        scale.pairs(blocks, output=tmp_path / "pairs", engine="ray")
    with pytest.raises(bp.errors.FileFormatError, match=r"the data set: .*column.*'x9'"):
        scale.pairs(blocks, output=tmp_path / "pairs", engine="ray", lower=("x9", "y0", "z0"))
    assert not (tmp_path / "pairs").exists()


def test_interrupted_run_on_ray_keeps_finished_tiles(tmp_path: Path, cluster: Any, little_memory: None) -> None:
    boxes = SCENES["giants"]
    files = write_files(tmp_path / "boxes", boxes)
    output = tmp_path / "pairs"

    def interrupt(stage: str, done: int, total: int) -> None:
        if stage == "join" and done > total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scale.pairs(files, output=output, engine="ray", progress=interrupt)
    lines = [json.loads(line) for line in (output / "_finished.jsonl").read_text().splitlines()]
    assert lines
    written = {line["file"]: (output / line["file"]).stat().st_mtime_ns for line in lines if line["file"]}
    assert set(pairs_in(output)) <= set(expected_pairs(boxes))
    report = scale.pairs(files, output=output, engine="ray")
    assert pairs_in(output) == expected_pairs(boxes)
    assert report.resumed_tiles == len(lines)
    assert written.items() <= {path.name: path.stat().st_mtime_ns for path in output.glob("*.parquet")}.items()
    assert scale.pairs(files, output=output).pair_count == report.pair_count  # either engine goes on with it


def test_lost_machine_is_replaced_and_the_pairs_are_the_same(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    boxes = scattered(200_000, size=0.02)
    files = write_files(tmp_path / "boxes", boxes, 8)
    node = cluster.add_node(num_cpus=2, object_store_memory=150_000_000)
    calls = tmp_path / "calls"
    assign = engine._assign

    def noted(*arguments: Any) -> Any:
        with calls.open("a") as stream:
            stream.write(f"{ray.get_runtime_context().get_node_id()} {arguments[2].number}\n")
        return assign(*arguments)

    def kill(stage: str, done: int, total: int) -> None:
        nonlocal node
        if stage == "assign" and done == total and node is not None:
            cluster.remove_node(node, allow_graceful=False)
            node = None
            (tmp_path / "pairs" / ".pairs-000000.parquet.1-1.part").write_bytes(b"cut off")  # as a killed process may

    monkeypatch.setattr(engine, "_assign", noted)
    plan = scale.Plan(3, np.array([0.5]), np.zeros(1, np.int32), np.arange(2, dtype=np.int32))
    report = scale.pairs(files, output=tmp_path / "pairs", engine="ray", plan=plan, progress=kill)
    nodes, stretches = zip(*(line.split() for line in calls.read_text().splitlines()), strict=True)
    assert len(set(nodes)) == 2
    assert len(stretches) > len(set(stretches))  # those whose boxes were on the lost machine are read again
    found = parquet.read_table(tmp_path / "pairs")
    expected = bp.pairs(boxes, sort=True)
    keys = np.sort(found["first"].to_numpy() * len(boxes) + found["second"].to_numpy())
    assert np.array_equal(keys, expected[:, 0].astype(np.int64) * len(boxes) + expected[:, 1])
    assert report.pair_count == len(expected)
    assert not list((tmp_path / "pairs").glob(".*"))


def test_cluster_that_is_connected_is_kept(tmp_path: Path, cluster: Any) -> None:
    files = write_files(tmp_path / "boxes", scattered(100))
    with pytest.raises(ValueError, match="Ray is connected already"):
        scale.pairs(files, output=tmp_path / "pairs", engine="ray", address="10.0.0.1:6379")
    with pytest.raises(ValueError, match="unknown engine 'rai'"):
        scale.pairs(files, output=tmp_path / "pairs", engine="rai")
    with pytest.raises(ValueError, match='are for engine="ray"'):
        scale.pairs(files, output=None)
    assert ray.is_initialized()


ALONE = """
import sys
from broadphase import scale
report = scale.pairs(sys.argv[1], output=sys.argv[2], engine="ray", workers=1)
import ray
print(report.pair_count, ray.is_initialized())
try:
    scale.pairs(sys.argv[1], output=None, engine="ray")
except ValueError as error:
    print(error)
"""


def test_ray_is_started_and_ended_without_a_word(tmp_path: Path) -> None:
    boxes = scattered(500)
    files = write_files(tmp_path / "boxes", boxes)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", "-c", ALONE, files, str(tmp_path / "pairs")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"{len(expected_pairs(boxes))} False\noutput=None gives a data set")
    assert done.stderr == ""
    assert pairs_in(tmp_path / "pairs") == expected_pairs(boxes)
