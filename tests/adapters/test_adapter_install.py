"""Drop-ins put in place of what they stand in for, for callers that cannot be changed, and taken back."""

import contextlib
import importlib
import subprocess
import sys
import threading

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


@pytest.mark.parametrize("name", adapters.ADAPTERS)
def test_threads_that_install_and_uninstall_leave_what_was_there(name):
    before = [(module, attribute, getattr(module, attribute)) for module, attribute, _ in places(name)]
    whole = [ours for _, _, ours in places(name)]
    counts, mixed = [], []

    def use():
        for _ in range(15):
            with contextlib.suppress(ValueError), adapters.install(name):  # in place already
                counts.append(1)
                if [getattr(module, attribute) for module, attribute, _ in before] != whole:
                    mixed.append(1)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert [getattr(module, attribute) for module, attribute, _ in before] == [theirs for _, _, theirs in before]
    assert counts
    assert not mixed


def test_end_of_an_old_installation_leaves_a_later_one():
    scipy = pytest.importorskip("scipy.spatial")
    theirs = scipy.cKDTree
    old = adapters.install("scipy")
    adapters.uninstall("scipy")
    later = adapters.install("scipy")
    for _ in range(2):
        old.__exit__(None, None, None)
        assert scipy.cKDTree is not theirs
    with later:
        pass
    assert scipy.cKDTree is theirs
    later.__exit__(None, None, None)
    adapters.uninstall("scipy")
    assert scipy.cKDTree is theirs


def test_installations_of_several_libraries_end_in_any_order():
    scipy, rtree = pytest.importorskip("scipy.spatial"), pytest.importorskip("rtree.index")
    theirs = scipy.cKDTree, rtree.Index
    with adapters.install("scipy") as outer:
        inner = adapters.install("rtree")
        outer.__exit__(None, None, None)
        assert scipy.cKDTree is theirs[0]
        assert rtree.Index is not theirs[1]
        with adapters.install("scipy"):
            inner.__exit__(None, None, None)
            assert scipy.cKDTree is not theirs[0]
    assert (scipy.cKDTree, rtree.Index) == theirs


def test_what_others_have_put_there_since_is_left_to_them():
    scipy = pytest.importorskip("scipy.spatial")
    theirs = scipy.cKDTree
    try:
        with adapters.install("scipy"):
            scipy.cKDTree = dict
        assert scipy.cKDTree is dict
    finally:
        scipy.cKDTree = theirs


def test_module_that_refuses_leaves_nothing_installed(monkeypatch):
    scipy = pytest.importorskip("scipy.spatial")

    class Frozen(type(sys)):
        def __setattr__(self, name, value):
            raise AttributeError(f"{name} is for reading")

    frozen = Frozen("frozen")
    vars(frozen)["Tree"] = scipy.cKDTree
    monkeypatch.setitem(sys.modules, "frozen", frozen)
    theirs = scipy.cKDTree, scipy.KDTree
    for _ in range(2):
        with pytest.raises(AttributeError, match="Tree is for reading"):
            adapters.install("scipy")
        assert (scipy.cKDTree, scipy.KDTree) == theirs
    monkeypatch.delitem(sys.modules, "frozen")
    with adapters.install("scipy"):
        assert scipy.cKDTree is not theirs[0]


@pytest.mark.parametrize("change", [adapters.install, adapters.uninstall])
@pytest.mark.parametrize("name", [[], None, 3, "scipi"])
def test_what_is_no_adapter_is_refused_by_name(change, name):
    with pytest.raises(ValueError, match="unknown adapter"):
        change(name)


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
