"""The adapters of other libraries: each one that is installed gives the pairs of the oracle."""

import numpy as np
import pytest
from benchmarks.measuring import load
from benchmarks.pairs import Reference
from benchmarks.peers import PEERS, installed_version, peer, unsuited

import broadphase as bp
from broadphase.testing import make_scene

INSTALLED = [pytest.param(row, id=row.name) for row in PEERS if installed_version(row)]


def scenes_of(row):
    names = {1: ["uniform_1d"], 2: ["uniform_2d", "rects"], 3: ["uniform"], 4: ["uniform_4d"]}
    uneven = {1: ["mixed_1d"], 2: [], 3: ["lognormal", "giant"], 4: []}
    for dimension in row.dimensions:
        yield from names[dimension]
        if not row.equal_cubes:
            yield from uneven[dimension]


@pytest.mark.filterwarnings("ignore")  # other competing's
@pytest.mark.parametrize("row", INSTALLED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_peer_on_its_scenes_gives_no_wrong_pair(row, dtype):
    for scene in scenes_of(row):
        boxes = make_scene(scene, 150, dtype=dtype)
        assert unsuited(row, boxes) == ""
        verdict = Reference(boxes).judge(row.find(boxes), touching=row.touching)
        assert not verdict.startswith("wrong"), f"{row.name} on {scene}: {verdict}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", INSTALLED)
def test_peer_on_touching_tiles_follows_its_rule(row):
    boxes = make_scene("voxels" if 3 in row.dimensions else "tiles", 64)
    verdict = Reference(boxes).judge(row.find(boxes), touching=row.touching)
    assert not verdict.startswith("wrong"), verdict


@pytest.mark.parametrize("row", [row for row in PEERS if row.distribution == "numpy"], ids=lambda row: row.name)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_numpy_peer_on_few_boxes_is_exact(row, n):
    boxes = make_scene("identical", n)
    assert Reference(boxes).judge(row.find(boxes)) == "exact"


def test_peer_names_are_unique():
    names = [row.name for row in PEERS]
    assert len(names) == len(set(names))


def test_peer_unknown_name_lists_the_known():
    with pytest.raises(ValueError, match=r"no peer is named 'nobody'.*scipy"):
        peer("nobody")


@pytest.mark.parametrize(
    ("name", "scene", "reason"),
    [
        ("numpy_brute", "infinite", ""),
        ("scipy", "lognormal", "equal cubes only"),
        ("shapely", "uniform", "no 3D"),
        ("ipctk_lbvh", "infinite", "finite boxes only"),
    ],
)
def test_unsuited_names_the_reason(name, scene, reason, monkeypatch):
    monkeypatch.setattr("benchmarks.measuring.version", lambda _: "1")
    assert unsuited(peer(name), make_scene(scene, 50)) == reason


def test_unsuited_when_missing_says_not_installed(monkeypatch):
    monkeypatch.setattr("benchmarks.peers.installed_version", lambda _: None)
    assert unsuited(peer("shapely"), make_scene("rects", 10)) == "not installed"


def test_load_missing_module_names_the_install():
    with pytest.raises(bp.errors.MissingExtraError, match="pip install --group bench, or pip install some-thing"):
        load("no_such_module_anywhere", "some-thing")


def test_reference_judges_every_kind_of_fault():
    boxes = make_scene("uniform", 300)
    right = bp.pairs(boxes)
    reference = Reference(boxes)
    assert reference.judge(right) == "exact"
    assert reference.judge(right[::-1, ::-1]) == "exact"
    assert reference.judge(right[1:]) == "wrong: 1 missing"
    assert reference.judge(np.concatenate([right, right[:2]])) == "wrong: 2 twice"
    i, j = next((i, j) for i in range(300) for j in range(i + 1, 300) if not (right == (i, j)).all(axis=1).any())
    assert reference.judge(np.concatenate([right, [[i, j]]])) == "1 extra pair"
    assert reference.judge(np.concatenate([right[1:], [[i, j]]])) == "wrong: 1 missing, 1 extra"


def test_reference_above_the_oracle_agrees_with_numpy_sweep(monkeypatch):
    monkeypatch.setattr("benchmarks.pairs.LARGEST_FOR_ORACLE", 10)
    boxes = make_scene("lognormal", 400)
    assert Reference(boxes).judge(peer("numpy_sweep").find(boxes)) == "exact"
