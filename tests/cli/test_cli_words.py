"""What messages advise is true where it is said."""

import re

import numpy as np
import pytest

import broadphase as bp
from broadphase import adapters, cli, scenes

pytest.importorskip("typer")


@pytest.mark.parametrize(
    ("arguments", "where", "advises"),
    [("pairs us_counties", "pairs", True), ("count us_counties", "count_pairs", False),
     ("explain us_counties", "explain", False), ("run crowd -n 3", "World", False)],
)  # fmt: skip
def test_out_of_memory_advises_count_for_pairs_only(arguments, where, advises, monkeypatch, capsys):
    def fail(*_, **options):
        raise MemoryError

    monkeypatch.setattr(bp, where, fail)
    assert cli.main(arguments.split()) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: out of memory")
    assert ("broadphase count" in err) == advises


def test_empty_tables_have_no_pairs_in_explanations(tmp_path, capsys):
    path = tmp_path / "empty.csv"
    path.write_text("xmin,ymin,xmax,ymax\n")
    assert cli.main(["explain", str(path)]) == 0
    out = capsys.readouterr().out
    assert "testing all 0 pairs" in out
    assert max(map(float, re.findall(r"([\d.]+) %", out))) <= 100


def test_pairs_to_ignore_beyond_the_boxes_name_the_number_of_boxes():
    boxes = [[0, 0, 1, 1]] * 3
    with pytest.raises(ValueError, match=r"\[0, 7\], but there are 3, from 0"):
        bp.pairs(boxes, ignore_pairs=[[0, 7]])
    with pytest.raises(ValueError, match=r"\[0, 7\], but the sets have 3 and 2, from 0"):
        bp.pairs(boxes, boxes[:2], ignore_pairs=[[0, 7]])


def test_unknown_keys_of_scenes_list_each_known_key_once():
    with pytest.raises(ValueError, match="unknown key 'zzz'") as caught:
        scenes.parse({"world": {"dim": 2, "method": {"name": "octree"}, "zzz": 1}, "group": []})
    known = re.findall(r"'(\w+)'", str(caught.value))
    assert len(known) == len(set(known))
    assert "method" in known


def test_negative_numbers_of_steps_are_refused_and_write_nothing(tmp_path):
    path = tmp_path / "page.html"
    scene = scenes.load("bouncing_rectangles")
    for steps in (-1, -(10**9), 1.5, np.nan):
        for call in (
            lambda steps=steps: bp.save_replay(bp.World(2), path, steps=steps),
            lambda steps=steps: bp.save_replay(scene, path, steps=steps),
            lambda steps=steps: scene.run(steps),
            lambda steps=steps: scene.changed(steps=steps),
            lambda steps=steps: scene.changed(seed=steps),
        ):
            with pytest.raises(ValueError, match=r"steps|seed"):
                call()
    assert not path.exists()


@pytest.mark.parametrize("name", [[], {}, 5, None, "scypi"])
def test_what_is_no_name_of_an_adapter_is_refused_by_that(name):
    with pytest.raises(ValueError, match="unknown adapter"):
        adapters.install(name)


def test_distances_of_meshes_are_those_of_surfaces_and_depths_of_convex_ones_those_of_bodies():
    trimesh = pytest.importorskip("trimesh")
    large, small = (bp.Mesh(box.vertices, box.faces) for box in map(trimesh.creation.box, ((1, 1, 1), (0.2, 0.2, 0.2))))
    # Inside, where the surfaces are apart; across a face; two equal ones.
    for parts, shift, expected in (([large, small], 0, 0.4), ([large, small], 0.5, -0.1), ([large, large], 0.5, -0.5)):
        placed = bp.Shapes(parts, [[0, 0, 0], [shift, 0, 0]])
        assert bp.distance(placed, pairs=[[0, 1]]).tolist() == pytest.approx([expected])
