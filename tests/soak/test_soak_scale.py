"""Pairs from files to files, killed again and again, in little memory; `make scale` does the same at full size."""

import pytest
from benchmarks import scale as bench

from scale import times

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytestmark = pytest.mark.soak


@pytest.mark.parametrize("city", ["0", "0.1"])
def test_scale_killed_at_random_times_gives_the_same_pairs(city, tmp_path):
    kills = str(times(100))
    options = ["--boxes", "1e6", "--memory", "50MB", "--kills", kills, "--city", city, "--folder", str(tmp_path)]
    assert bench.main(["kills", *options]) == 0


@pytest.mark.parametrize("memory", ["50MB", "200MB", "2GB"])
def test_scale_keeps_its_memory(memory, tmp_path):
    options = ["--boxes", str(times(10_000_000)), "--memory", memory, "--city", "0.1", "--folder", str(tmp_path)]
    assert bench.main(["memory", *options]) == 0
