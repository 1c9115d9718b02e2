"""The tour that `make run` makes."""

import pytest
from benchmarks import tour

from broadphase.testing import make_scene


def test_tour_prints_what_it_found(capsys):
    assert tour.main(["--boxes", "2000", "--frames", "3"]) == 0
    text = capsys.readouterr().out
    assert "US counties" in text
    assert "found 10,465" in text
    assert "1,999,000" in text  # 2000 * 1999 / 2 tests by brute force
    assert "\x1b" not in text


def test_tour_bad_number_exits_with_2(capsys):
    with pytest.raises(SystemExit) as stop:
        tour.main(["--frames", "0"])
    assert stop.value.code == 2
    assert "at least 1" in capsys.readouterr().err


def test_visit_counts_every_frame():
    told = []
    frames = [make_scene("rects", 100, seed=seed) for seed in range(3)]
    stop = tour.visit("three", iter(frames), 3, lambda done, what: told.append(done))
    assert len(stop.pair_counts) == len(stop.milliseconds) == 3
    assert told == pytest.approx([1 / 3, 2 / 3, 1])


def test_visit_without_frames_raises():
    with pytest.raises(ValueError, match="at least one frame"):
        tour.visit("none", [], 0)
