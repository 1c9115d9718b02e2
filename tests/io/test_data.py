"""Bundled data: as described, with the known pairs, and equal to what was published."""

import hashlib

import numpy as np
import pytest

import broadphase as bp
from broadphase import data
from broadphase.testing import checksum


def assert_as_described(boxes, known):
    assert boxes.shape == (known.box_count, 2, known.dim)
    assert boxes.dtype == np.float64
    assert hashlib.sha256(np.ascontiguousarray(boxes, "<f8").tobytes()).hexdigest() == known.sha256
    pairs = bp.pairs(boxes)
    assert (len(pairs), checksum(pairs)) == (known.pair_count, known.pair_checksum)


@pytest.mark.parametrize("name", data.NAMES)
def test_bundled_set_is_as_described_and_has_the_known_pairs(name):
    assert_as_described(data.load(name), data.describe(name))


def test_coast_of_the_benchmarks_is_as_described_and_has_the_known_pairs():
    coast = pytest.importorskip("benchmarks.coast")
    assert_as_described(coast.load(), coast.describe())


def test_bundled_set_equals_the_published_one(data_folder):
    for name in data.NAMES:
        with np.load(data_folder / f"{name}.npz") as published:
            np.testing.assert_array_equal(data.load(name), np.stack([published["lo"], published["hi"]], axis=1))


@pytest.mark.parametrize("function", [data.load, data.describe])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("us_county", r"unknown data set 'us_county' \(did you mean 'us_counties'\?\)"),
        ("../secrets", "must be 'us_counties'"),
    ],
)
def test_bundled_set_of_another_name_raises(function, name, message):
    with pytest.raises(ValueError, match=message):
        function(name)
