"""Pairs from files to files, killed again and again, in little memory; `make scale` does the same at full size."""

import shutil

import pytest
from benchmarks import scale as bench
from seeds import seeds

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytestmark = pytest.mark.soak


@pytest.mark.parametrize("city", ["0", "0.1"])
def test_scale_killed_at_random_times_gives_the_same_pairs(city, tmp_path):
    options = ["--boxes", "1e6", "--memory", "50MB", "--kills", "10", "--city", city]
    for seed in seeds(10):
        assert bench.main(["kills", *options, "--seed", str(seed), "--folder", str(tmp_path / str(seed))]) == 0
        shutil.rmtree(tmp_path / str(seed))


@pytest.mark.parametrize("memory", ["50MB", "200MB", "2GB"])
def test_scale_keeps_its_memory(memory, tmp_path):
    options = ["--boxes", "1e7", "--memory", memory, "--city", "0.1", "--folder", str(tmp_path)]
    assert bench.main(["memory", *options]) == 0
