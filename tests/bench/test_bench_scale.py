"""The script of `make scale`: its scenes and its reckoning in memory, not its runs at full size."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks import scale as bench

import broadphase as bp
from broadphase import scale
from broadphase.testing import checksum

pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.mark.parametrize("city", [0.0, 0.3])
def test_pairs_by_slabs_are_those_of_all_boxes(city: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "FILE_ROWS", 3000)
    monkeypatch.setattr(bench, "SLAB_ROWS", 1500)
    scene = bench.Scene(10_000, city)
    pairs = bp.pairs(np.concatenate([boxes for _, boxes in scene.parts()]))
    assert scene.pairs_in_memory() == (len(pairs), int(checksum(pairs), 16))


@pytest.mark.parametrize(
    ("boxes", "by_files", "measured"), [(1e6, False, 0.25), (1e7, False, 1.23), (1e7, True, 1.65), (1e8, True, 17.5)]
)
def test_cost_model_is_near_what_was_measured(boxes: float, by_files: bool, measured: float) -> None:
    assert bench.predicted_seconds(boxes, by_files=by_files) == pytest.approx(measured, rel=0.15)


def test_files_and_their_pairs_are_those_of_the_scene(tmp_path: Path) -> None:
    scene = bench.Scene(5000)
    files = scene.write(tmp_path / "boxes")
    report = scale.pairs(files, output=tmp_path / "pairs")
    assert report.pair_count > 1000
    assert bench.pairs_of_files(tmp_path / "pairs") == scene.pairs_in_memory()
