"""Worlds saved and loaded: they go on as if nothing had happened, and damaged ones are ValueErrors."""

import copy
import hashlib
import pickle

import numpy as np
import pytest

import broadphase as bp
from broadphase.world.columns import COLUMNS
from broadphase.world.snapshot_format import pack
from busy_worlds import change, events, go_on, make_world

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_world_goes_on_after_loading_as_it_would_have(dimension, seed):
    world = make_world(dimension, seed)
    go_on(world, seed, 2 * seed)
    rng = np.random.default_rng(seed + 50)
    for _ in range(seed % 4):  # between two steps
        change(world, rng)
    data = world.to_bytes()
    loaded = bp.World.from_bytes(data)
    assert loaded.to_bytes() == data
    assert world.to_bytes() == data
    assert go_on(loaded, seed + 100, 12) == go_on(world, seed + 100, 12)
    assert loaded.to_bytes() == world.to_bytes()
    assert np.array_equal(loaded.handles(), world.handles())


@pytest.mark.parametrize("method", ["auto", "grid", "bvh"])
def test_budgets_go_on_after_loading_as_they_would_have(method):
    world = make_world(2, 5, method=method)
    rng = np.random.default_rng(1)
    world.add_many(bp.Circle(1), rng.uniform(0, 8, (60, 2)), velocities=rng.uniform(-1, 1, (60, 2)))
    budget = bp.Budget(tests=100)
    go_on(world, 5, 6, budget=budget)
    assert len(world.step(0.1, budget=budget).deferred)
    loaded = bp.World.from_bytes(world.to_bytes())
    assert go_on(loaded, 6, 8, budget=budget) == go_on(world, 6, 8, budget=budget)


def test_borders_and_options_come_back():
    options = {"method": "octree", "bounds": [[0, 0], [8, 8]], "boundary": "bounce", "margin": 0.25, "workers": 2}
    world = make_world(2, 1, **options)
    world.step(0.1)
    loaded = bp.World.from_bytes(world.to_bytes())
    assert np.array_equal(loaded.bounds, world.bounds)
    assert loaded.boundary == "bounce"
    assert go_on(loaded, 3, 5) == go_on(world, 3, 5)
    assert loaded.to_bytes() == world.to_bytes()


@pytest.mark.parametrize("border", ["wrap", "remove", "none"])
def test_every_border_goes_on(border):
    world = make_world(2, 7, bounds=[[0, 0], [8, 8]], boundary=border)
    go_on(world, 7, 5)
    loaded = bp.World.from_bytes(world.to_bytes())
    assert go_on(loaded, 8, 10) == go_on(world, 8, 10)


def test_budgets_and_fast_things_together_go_on():
    world = bp.World(2)
    rng = np.random.default_rng(2)
    places, velocities = rng.uniform(0, 6, (60, 2)), rng.uniform(-40, 40, (60, 2))
    world.add_many(bp.Circle(0.5), places, velocities=velocities, ccd=True)
    for _ in range(12):
        loaded = bp.World.from_bytes(world.to_bytes())  # which refuses pairs that wait twice
        frame = world.step(0.1, budget=bp.Budget(tests=10))
        assert len(np.unique(frame.deferred, axis=0)) == len(frame.deferred)
        assert events(loaded.step(0.1, budget=bp.Budget(tests=10))) == events(frame)
        world.velocities[:] *= -1
    assert len(frame.deferred)


def test_fast_things_go_on():
    world = bp.World(2)
    world.add_many(bp.Circle(0.1), [[0, 0], [0, 1]], velocities=[[50, 0], [30, 0]], ccd=True)
    world.add_many(bp.Rectangle(0.1, 10), [[10, 0], [20, 0]], body_type="static")
    world.step(0.1)
    loaded = bp.World.from_bytes(world.to_bytes())
    for _ in range(5):
        assert events(loaded.step(0.1)) == events(world.step(0.1))


def test_same_commands_give_the_same_bytes_in_every_step():
    one, other = make_world(2, 3), make_world(2, 3)
    assert one.to_bytes() == other.to_bytes()
    for step in range(10):
        go_on(one, step, 1)
        go_on(other, step, 1)
        assert one.to_bytes() == other.to_bytes()


def test_looking_at_a_world_does_not_change_its_bytes():
    world = bp.World(2)
    world.add_many(bp.Circle(1), [[0, 0], [1, 0], [5, 5]])
    world.step(0.5)
    data = world.to_bytes()
    _ = world.rotations, world.angular_velocities, world.outline(), world.shapes, world.groups, world.asleep
    world.query([[0, 0, 9, 9]])
    assert world.to_bytes() == data


def test_values_of_removed_rows_leave_no_trace():
    one, other = bp.World(2), bp.World(2)
    for world, place in ((one, [3, 4]), (other, [5, 6])):
        rows = world.add_many(bp.Circle(1), [[0, 0], place])
        world.remove(rows[1])
        world.positions[1] = np.nan
    assert one.to_bytes() == other.to_bytes()


@pytest.mark.parametrize("freed", [[2], [1, 2], [0, 1, 2]])
def test_worlds_whose_last_rows_are_free_answer_after_loading(freed):
    world = bp.World(2)
    world.add_many(bp.Circle(1), [[0, 0], [5, 0], [9, 0]])
    world.remove(freed)
    expected = [row for row in range(3) if row not in freed]
    loaded = bp.World.from_bytes(world.to_bytes())
    for _ in range(2):
        for everywhere in ([[-9, -9, 19, 19]], [[-np.inf, -np.inf, np.inf, np.inf]], [[-9, -9, 19, 19]] * 300):
            answers = loaded.query(everywhere)
            assert answers.rows.tolist() == expected * len(everywhere)
        assert loaded.raycast_all([[-5, 0]] * 300, [[1, 0]] * 300).rows.tolist() == expected * 300
        assert set(loaded.nearest([[0, 0]] * 300, k=3).rows.ravel()) - {-1} == set(expected)
        loaded.step(0.1)
    assert loaded.add(bp.Circle(1), position=(0, 3)).row == min(freed)


def test_bytes_of_a_known_world_are_those_of_every_version():
    world = bp.World(2, bounds=[[0, 0], [9, 9]])
    rows = world.add_many(bp.Circle([1, 2, 3]), [[1, 1], [2, 2], [7, 7]], velocities=(1, 0), layer="balls")
    world.add(bp.Compound([bp.Point(), bp.AABB((2, 1))]), position=(5, 5), rotation=0.5, data=[1, "a"])
    world.step(0.25)
    world.remove(rows[0])
    assert (
        hashlib.sha256(world.to_bytes()).hexdigest()
        == "c9d98a48cbea4930edc4515ab35c39bb792ab4744a963edda42cfe738ac9029d"
    )


def test_hulls_and_meshes_come_back():
    world = bp.World(3)
    hull = bp.ConvexHull(TETRAHEDRON)
    mesh = bp.Mesh(TETRAHEDRON, [[0, 1, 2], [0, 1, 3]])
    world.add_many([hull, mesh, bp.Sphere(1), hull], [[0, 0, 0], [5, 0, 0], [9, 0, 0], [20, 0, 0]])
    loaded = bp.World.from_bytes(world.to_bytes())
    assert loaded.to_bytes() == world.to_bytes()
    assert np.array_equal(loaded.boxes, world.boxes)
    assert [type(loaded.actor(row).shape).__name__ for row in range(4)] == [
        "ConvexHull",
        "Mesh",
        "Sphere",
        "ConvexHull",
    ]
    assert np.array_equal(loaded.actor(1).shape.faces, mesh.faces)


def test_hulls_and_meshes_go_on():
    world = bp.World(3)
    rng = np.random.default_rng(1)
    for shape in (
        bp.ConvexHull(TETRAHEDRON),
        bp.Mesh(TETRAHEDRON, [[0, 1, 2], [0, 1, 3]], offset=(0.5, 0, 0)),
        bp.Sphere(1),
    ):
        world.add_many(shape, rng.uniform(0, 5, (12, 3)), velocities=rng.uniform(-1, 1, (12, 3)),
                       angular_velocities=(0, 1, 2))  # fmt: skip
    world.step(0.1)
    loaded = bp.World.from_bytes(world.to_bytes())
    for _ in range(10):
        frame = world.step(0.1)
        assert len(frame.pairs)
        assert events(loaded.step(0.1)) == events(frame)
    assert loaded.to_bytes() == world.to_bytes()


def test_empty_worlds_come_back():
    for dimension in (2, 3):
        world = bp.World.from_bytes(bp.World(dimension).to_bytes())
        assert (len(world), world.dim, world.number) == (0, dimension, 0)
        world.add_many(bp.Point(), np.zeros((2, dimension)))
        assert len(world.step().enter) == 1


def test_removals_before_saving_are_told_after_loading():
    world = bp.World(2)
    rows = world.add_many(bp.Circle(1), [[0, 0], [1, 0], [1.5, 0]])
    world.step()
    handles = world.handles(rows)
    world.remove([0, 1])
    assert world.add_many(bp.Circle(1), [[0, 0]]).tolist() == [0]
    loaded = bp.World.from_bytes(world.to_bytes())
    frame = loaded.step()
    assert frame.exit.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert np.array_equal(frame.exit_handles, handles[[[0, 1], [0, 2], [1, 2]]])
    assert frame.enter.tolist() == [[0, 2]]
    with pytest.raises(KeyError):
        loaded.rows_of(handles[:1])
    assert loaded.add_many(bp.Circle(1), [[50, 0]]).tolist() == [1]


def test_data_of_actors_is_kept_where_it_is_json():
    world = bp.World(2)
    first = world.add(bp.Circle(1), position=(0, 0), data={"lives": 3, "names": ["a", None, 0.5]})
    world.add(bp.Circle(1), position=(9, 0))
    world.add(bp.Circle(1), position=(20, 0), data="x")
    loaded = bp.World.from_bytes(world.to_bytes())
    assert loaded.actor(0).data == {"lives": 3, "names": ["a", None, 0.5]}
    assert loaded.actor(1).data is None
    assert loaded.actor(2).data == "x"
    loaded.actor(0).data["lives"] = 0
    assert first.data["lives"] == 3
    assert bp.World.from_bytes(world.to_bytes(data=False)).actor(0).data is None


@pytest.mark.parametrize("data", [(1, 2), {1: 2}, float("nan"), object(), {"a": {1, 2}}, np.zeros(3)])
def test_other_data_is_a_type_error_that_names_the_row(data, tmp_path):
    world = bp.World(2)
    world.add(bp.Circle(1), position=(0, 0))
    world.add(bp.Circle(1), position=(9, 0), data=data)
    with pytest.raises(TypeError, match="the data of row 1 "):
        world.save(tmp_path / "a.world")
    assert not list(tmp_path.iterdir())
    world.save(tmp_path / "a.world", data=False)
    assert len(bp.World.load(tmp_path / "a.world")) == 2


class Ball(bp.Actor):
    """Counts its hits."""

    def on_enter(self, other):
        self.data = (self.data or 0) + 1


def test_actors_get_their_classes_back_if_these_are_named():
    world = bp.World(2)
    world.add(bp.Circle(1), position=(0, 0), layer="balls", data=5, actor=Ball)
    world.add(bp.Circle(1), position=(1, 0), layer="walls")
    data = world.to_bytes()
    assert type(bp.World.from_bytes(data).actor(0)) is bp.Actor
    for which in ("balls", 0):
        loaded = bp.World.from_bytes(data, actors={which: Ball})
        assert type(loaded.actor(0)) is Ball
        assert type(loaded.actor(1)) is bp.Actor
        loaded.step()
        assert loaded.actor(0).data == 6
    with pytest.raises(ValueError, match="actors"):
        bp.World.from_bytes(data, actors={"bals": Ball})
    with pytest.raises(KeyError):
        bp.World.from_bytes(data, actors={7: Ball})


def test_copies_and_pickles_are_worlds_of_their_own():
    world = make_world(2, 2)
    world.add(bp.Circle(1), position=(0, 0), data={1: (2, 3)})  # no JSON, but pickle knows it
    go_on(world, 1, 3)
    data = world.to_bytes(data=False)
    for other in (copy.deepcopy(world), copy.copy(world), pickle.loads(pickle.dumps(world)), bp.World.from_bytes(data)):
        go_on(other, 3, 2)
        assert other.to_bytes(data=False) != data
        assert world.to_bytes(data=False) == data
    one, two = copy.deepcopy(world), pickle.loads(pickle.dumps(world))
    row = int(world.rows[-1])
    assert one.actor(row).data == two.actor(row).data == {1: (2, 3)}
    assert one.actor(row).data is not world.actor(row).data
    assert go_on(one, 4, 4) == go_on(two, 4, 4) == go_on(world, 4, 4)


class Game(bp.World):
    """A derived world that wants to know more."""

    def __init__(self, title):
        super().__init__(2)
        self.title = title


def test_derived_worlds_stay_what_they_are():
    game = Game("chess")
    game.add_many(bp.Circle(1), [[0, 0]])
    assert copy.deepcopy(game).title == pickle.loads(pickle.dumps(game)).title == "chess"
    loaded = Game.from_bytes(game.to_bytes())
    assert type(loaded) is Game
    assert len(loaded) == 1


def test_world_that_an_actor_knows_is_copied_with_it():
    world = bp.World(2)
    world.add(bp.Circle(1), position=(0, 0), data=[world])
    other = copy.deepcopy(world)
    assert other.actor(0).data[0] is other


def test_file_comes_back_and_errors_name_it(tmp_path):
    world = make_world(2, 4)
    path = tmp_path / "game.world"
    world.save(path)
    assert path.read_bytes() == world.to_bytes()
    assert bp.World.load(str(path)).to_bytes() == world.to_bytes()
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"game\.world: the snapshot is truncated"):
        bp.World.load(path)
    path.write_bytes(pack({"something": "else"}, {}))
    with pytest.raises(ValueError, match=r"game\.world: not a snapshot of a world"):
        bp.World.load(path)


def test_a_step_that_failed_has_removed_nothing(monkeypatch):
    world = bp.World(2, bounds=[[0, 0], [10, 10]], boundary="remove")
    rows = world.add_many(bp.Circle(1), [[5, 5], [9, 5]], velocities=(30, 0))
    handles, before = world.handles(rows), world.to_bytes()

    def fail(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("broadphase.world.step.Answers.changes", fail)
        with pytest.raises(MemoryError):
            world.step(1.0)
    assert world.to_bytes() == before
    loaded = bp.World.from_bytes(world.to_bytes())
    assert loaded.step(1.0).removed_handles.tolist() == world.step(1.0).removed_handles.tolist() == handles.tolist()


KEPT = {
    "Columns": {
        *("dim", "bounds", "boundary", "closed", "rows", "layers", "geometries", "seen", "positions", "velocities"),
        *("rotations",),
        *("angular_velocities", "body_types", "changed", "renewed", "groups", "sensors", "ccd", "update_intervals"),
        *("asleep", "batches", "boundaries", "ignored", "displaced", "has_displaced", "generation_then"),
    },
    "BoxStore": {"alive", "generation", "layer", "mask", "slots"},
    "BroadPhase": {"given", "margin", "workers"},
    "World": {"_columns", "_stepper", "_scene", "_actors"},
}
DERIVED = {
    "Columns": {
        *("spare", "stale", "next_changed", "moved", "frame", "contacts_of", "version", "writes"),
        *("_replaced", "_view"),
    },
    "BoxStore": {"batch", "corners", "living", "spheres", "_first_free", "_numbers", "_views"},
    "BroadPhase": {
        *("method", "search", "threads", "_options", "_columns", "_core", "index", "_behind", "_pending"),
        *("_pending_count", "_share", "reach", "outside", "world", "has_tree", "has_cells"),
    },
    # What a step with a budget takes is measured again.
    "World": {"_guard", "_bus", "_answers"},
}


def test_every_attribute_of_a_world_is_kept_or_follows_from_others():
    world = bp.World(2)
    parts = [world, world._columns, world._columns.rows, world._scene.broad]
    # A world has its parts in slots, and in its dictionary what users add.
    attributes = {type(part).__name__: set(getattr(part, "__slots__", vars(part))) for part in parts}
    attributes["World"] -= {"__dict__", "__weakref__"}
    assert vars(world) == {}
    assert attributes == {name: KEPT[name] | DERIVED[name] for name in KEPT}
    core = {name for name in dir(world._stepper) if not name.startswith("_")}
    assert core == {"number", "time", "touching", "set_touching", "waiting", "quiet_steps"} | {
        *("add_body", "found", "forget_near", "let_go", "look", "memory_bytes", "remove_body", "step"),
    }


def test_every_array_by_row_of_a_world_is_in_the_table_of_columns_or_kept_by_name():
    world = bp.World(3, bounds=[[0, 0, 0], [9, 9, 9]])
    rare = {"group": 1, "sensor": True, "ccd": True, "update_interval": 2, "batch": 3, "boundary": "bounce"}
    rows = world.add_many(bp.Sphere(1), np.ones((5, 3)), angular_velocities=(0, 0, 1), layer=2, mask=3, **rare)
    world.sleep(rows)
    columns = world._columns
    owned = {name: getattr(*columns.owner_of(name)) for name in COLUMNS}
    capacity = len(columns.positions)
    assert capacity > columns.slots
    assert {name: len(array) for name, array in owned.items()} == dict.fromkeys(COLUMNS, capacity)
    assert {name: array.dtype for name, array in owned.items()} == {name: row.dtype for name, row in COLUMNS.items()}
    by_row = {name for name, value in vars(columns).items() if isinstance(value, np.ndarray) and name != "bounds"}
    flags = {"changed", "renewed", "displaced", *DERIVED["Columns"]}
    assert by_row - flags == {name for name, row in COLUMNS.items() if not row.part}
