"""Comparisons of worlds: the same scenes in every library that is installed, and the same pairs."""

import json

import numpy as np
import pytest
from benchmarks.measuring import version_of
from benchmarks.query_peers import keys_of
from benchmarks.world_peers import WORLD_PEERS, WorldPeer
from benchmarks.world_scenes import WORLD_SCENES, world_scene
from benchmarks.worlds import compare_worlds, show_worlds, worlds_as_json, worlds_from_json

import broadphase as bp
from broadphase.testing import oracle

pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries
SHARE = 0.02


@pytest.mark.parametrize("name", WORLD_SCENES)
def test_scene_with_a_share_of_bodies_keeps_its_density(name):
    scene, whole = world_scene(name, SHARE), world_scene(name)
    assert scene.count == round(whole.count * SHARE)
    assert (scene.velocities[scene.moving :] == 0).all()
    assert np.array_equal(scene.at(3), scene.positions + 3 * scene.velocities)
    density = [s.count / np.prod(s.positions.max(0) - s.positions.min(0)) for s in (scene, whole)]
    assert density[0] == pytest.approx(density[1], rel=0.5)


@pytest.mark.parametrize(
    ("name", "scene"),
    [
        pytest.param(row.name, scene, id=f"{row.name}-{scene}")
        for row in WORLD_PEERS
        for scene in row.scenes
        if version_of(row.distribution)
    ],
)
def test_every_world_finds_the_contacts(name, scene):
    row = next(row for row in WORLD_PEERS if row.name == name)
    made = world_scene(scene, SHARE)
    world = row.make(made)
    for _ in range(6):
        world.step()
    positions, half = made.at(6 - row.lag), made.size / 2
    pairs = oracle.pairs(np.stack([positions - half, positions + half], axis=1))
    if made.shape != "rectangle":
        pairs = pairs[np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1) <= made.size]
    pairs = pairs[pairs[:, 0] < made.moving]
    assert len(pairs) > 0
    assert np.array_equal(world.touching(), keys_of(pairs))


def test_comparison_survives_json_and_is_shown(capsys):
    comparison = compare_worlds(["rectangles"], peers=["broadphase", "rebuilt"], share=0.1, budget=0.2)
    assert [outcome.verdict for outcome in comparison.outcomes] == ["exact", "exact"]
    assert worlds_from_json(json.loads(json.dumps(worlds_as_json(comparison)))) == comparison
    show_worlds(comparison)
    assert "100 rectangles" in capsys.readouterr().out


def test_wrong_world_is_not_timed(monkeypatch):
    row = next(row for row in WORLD_PEERS if row.name == "rebuilt")

    class SeesMore(row.make):
        def touching(self):
            nobody = np.int64(self.scene.count) << 32
            return np.concatenate([super().touching(), nobody + np.arange(10)])

    liar = WorldPeer("liar", "Liar", "numpy", SeesMore, ("discs",))
    monkeypatch.setattr("benchmarks.worlds.WORLD_PEERS", (liar,))
    comparison = compare_worlds(["discs"], share=SHARE, budget=0.1)
    assert [outcome.milliseconds for outcome in comparison.wrong] == [None]
    assert comparison.wrong[0].verdict.startswith("wrong: 10 of ")


@pytest.mark.parametrize("options", [{"scenes": ["nowhere"]}, {"peers": ["nobody"]}])
def test_unknown_name_raises(options):
    with pytest.raises(ValueError, match=r"nowhere|nobody"):
        compare_worlds(**options, share=SHARE, budget=0.1)


def test_own_world_integrates_as_the_scene_says():
    scene = world_scene("balls", SHARE)
    world = next(row for row in WORLD_PEERS if row.name == "broadphase").make(scene)
    world.step()
    assert isinstance(world.world, bp.World)
    assert world.world.positions == pytest.approx(scene.at(1))
