"""Drop-ins put in place of what they stand in for, for callers that cannot be changed, and taken back."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

import broadphase as bp
from broadphase import adapters
from broadphase.adapters.installing import _PLACES


@pytest.fixture(autouse=True)
def taken_back():
    yield
    for name in adapters.ADAPTERS:
        adapters.uninstall(name)


def places(name):
    """List the modules and names that hold what an adapter stands in for, and what it puts there."""
    pytest.importorskip(name)
    drop_in = importlib.import_module(f"broadphase.adapters.{name}")
    found = []
    for own, (module, attribute) in _PLACES[name].items():
        if module == "geopandas":
            pytest.importorskip(module)
        found.append((importlib.import_module(module), attribute, getattr(drop_in, own)))
    return found


@pytest.mark.parametrize("name", adapters.ADAPTERS)
def test_installed_names_are_those_of_the_drop_in_until_they_are_taken_back(name):
    held = [(module, attribute, getattr(module, attribute), ours) for module, attribute, ours in places(name)]
    with adapters.install(name) as installation:
        assert [getattr(module, attribute) for module, attribute, _, _ in held] == [ours for _, _, _, ours in held]
        assert name in repr(installation)
        with pytest.raises(ValueError, match=f"the drop-in for {name} is in place already"):
            adapters.install(name)
    assert [getattr(module, attribute) for module, attribute, _, _ in held] == [theirs for _, _, theirs, _ in held]
    adapters.uninstall(name)  # nothing happens


def test_modules_that_imported_a_name_before_have_the_drop_in_too():
    pytest.importorskip("arcade")
    engines = importlib.import_module("arcade.physics_engines")
    from broadphase.adapters.arcade import check_for_collision_with_lists

    theirs = engines.check_for_collision_with_lists
    with adapters.install("arcade"):
        assert engines.check_for_collision_with_lists is check_for_collision_with_lists
    assert engines.check_for_collision_with_lists is theirs


def test_an_unknown_adapter_is_named_with_the_nearest():
    with pytest.raises(ValueError, match=r"unknown adapter 'rtrees' \(did you mean 'rtree'\?\)"):
        adapters.install("rtrees")


def test_geopandas_joins_over_the_installed_tree_as_over_its_own():
    geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    from broadphase.adapters.shapely import STRtree

    rng = np.random.default_rng(0)
    points = geopandas.GeoDataFrame({"a": range(500)}, geometry=shapely.points(rng.random((500, 2)) * 20))
    around = shapely.buffer(shapely.points(rng.random((90, 2)) * 20), 1.5)
    discs = geopandas.GeoDataFrame({"b": range(90)}, geometry=around)
    expected = geopandas.sjoin(points, discs, predicate="within"), points.copy().sjoin(discs.copy())
    with adapters.install("shapely"):
        points, discs = points.copy(), discs.copy()
        found = geopandas.sjoin(points, discs, predicate="within"), points.sjoin(discs)
        assert isinstance(discs.sindex._tree, STRtree)
        assert isinstance(shapely.STRtree(discs.geometry.values), STRtree)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.equals(theirs)


PATCHED = """
import geopandas, shapely, numpy as np
import broadphase.adapters.shapely as ours
shapely.STRtree, geopandas.sjoin = ours.STRtree, ours.sjoin
boxes = shapely.box(np.arange(200.0), 0, np.arange(200.0) + 1.5, 1)
assert len(shapely.STRtree(boxes).query(boxes[0])) == 2
assert shapely.STRtree(boxes).query(boxes).shape == (2, 598)
frame = geopandas.GeoDataFrame(geometry=boxes)
assert len(geopandas.sjoin(frame, frame)) == len(frame.sjoin(frame)) == 598
"""


def test_plain_patching_does_not_call_itself():
    pytest.importorskip("geopandas")
    done = subprocess.run([sys.executable, "-c", PATCHED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_physics_engine_of_arcade_moves_as_with_its_own_checks():
    arcade = pytest.importorskip("arcade")

    def played():
        player = arcade.SpriteSolidColor(20, 20, center_x=50, center_y=200)
        walls = arcade.SpriteList(use_spatial_hash=True)
        for x in range(0, 400, 20):
            walls.append(arcade.SpriteSolidColor(20, 20, center_x=x, center_y=40 + (x % 60)))
        engine = arcade.PhysicsEnginePlatformer(player, walls=walls, gravity_constant=0.5)
        path = []
        for _ in range(120):
            player.change_x = 2
            engine.update()
            path.append(player.position)
        return path

    expected = played()
    with adapters.install("arcade"):
        assert played() == expected


@pytest.mark.parametrize("name", ["scipy", "rtree", "trimesh", "ase", "pygame"])
def test_what_is_installed_answers(name):
    pytest.importorskip(name)
    with adapters.install(name):
        if name == "scipy":
            from scipy.spatial import KDTree, cKDTree

            grid = np.stack(np.meshgrid(*[np.arange(6.0)] * 2), axis=-1).reshape(-1, 2)
            assert cKDTree(grid).query_ball_point(grid[0], 1.0) == [0, 1, 6]
            assert KDTree(grid).query_ball_point(grid[0], 1.0) == [0, 1, 6]
            assert KDTree(grid).count_neighbors(KDTree(grid), 1.0) == 36 + 2 * 60
        elif name == "rtree":
            from rtree.index import Index

            index = Index()
            index.insert(7, (0, 0, 1, 1))
            assert list(index.intersection((0.5, 0.5, 2, 2))) == [7]
        elif name == "trimesh":
            import trimesh

            manager = trimesh.collision.CollisionManager()
            manager.add_object("a", trimesh.creation.box())
            manager.add_object("b", trimesh.creation.box())
            assert manager.in_collision_internal()
        elif name == "ase":
            import ase.build
            from ase.neighborlist import neighbor_list

            assert len(neighbor_list("i", ase.build.bulk("Cu", cubic=True), 2.6)) == 48
        else:
            import pygame

            group = pygame.sprite.Group()
            for x in (0, 5, 50):
                sprite = pygame.sprite.Sprite(group)
                sprite.rect = pygame.Rect(x, 0, 10, 10)
            hits = pygame.sprite.groupcollide(group, group, False, False)
            assert sorted(len(others) for others in hits.values()) == [1, 2, 2]


def test_star_brings_no_library():
    assert sorted(adapters.__all__) == ["install", "uninstall"]
    assert bp.adapters is adapters
