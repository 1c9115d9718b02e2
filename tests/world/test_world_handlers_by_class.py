"""Handlers that are registered for classes of actors."""

import copy
import pickle

import numpy as np
import pytest

import broadphase as bp
from handler_histories import written


class Bullet(bp.Actor):
    pass


class Rocket(Bullet):
    def on_enter(self, other):
        """Have a hook, too."""


class Enemy(bp.Actor):
    pass


def world_of(*kinds, layers=None):
    """Give a world of circles in one place: of classes of actors, or None for plain ones."""
    world = bp.World(dim=2)
    for row, kind in enumerate(kinds):
        options = {} if kind is None else {"actor": kind}
        world.add(bp.Circle(1), position=(0, 0), layer=None if layers is None else layers[row], **options)
    return world


def pairs_of(log, kind="enter"):
    return [event[1:] for event in log if event[0] == kind]


def test_a_class_alone_is_what_the_handler_is_for():
    world = world_of(Bullet, None, Enemy)
    events = []

    @world.on_enter(Bullet)
    def hit(event):
        events.append((event.actor.row, event.other.row))

    assert callable(hit)
    assert hit.__name__ == "hit"
    world.step()
    assert events == [(0, 1), (0, 2)]
    assert world.remove_handler(hit) == 1


def test_classes_match_their_subclasses_and_the_first_is_named_first():
    world = world_of(Enemy, Rocket, None, Bullet, bp.Actor)
    any_bullet, both = written(world, Bullet), written(world, Bullet, Enemy)
    rockets, twice = written(world, Rocket, Bullet), written(world, Bullet, Bullet)
    everything, nothing = written(world, bp.Actor), written(world, Enemy, Enemy)
    everybody_second = written(world, Enemy, bp.Actor)
    world.step()
    assert pairs_of(any_bullet) == [(1, 0), (3, 0), (1, 2), (1, 3), (1, 4), (3, 2), (3, 4)]
    assert pairs_of(both) == [(1, 0), (3, 0)]
    assert pairs_of(rockets) == pairs_of(twice) == [(1, 3)]
    assert len(pairs_of(everything)) == 10
    assert pairs_of(nothing) == []
    assert pairs_of(everybody_second) == [(0, 1), (0, 2), (0, 3), (0, 4)]


def test_classes_mix_with_layers_and_actors():
    world = world_of(Enemy, Rocket, None, Bullet, layers=["foe", "shot", "wall", "shot"])
    by_layer, turned = written(world, Bullet, "wall"), written(world, {"wall", "foe"}, Bullet)
    of_one, to_one = written(world, world.actor(0), Bullet), written(world, Bullet, world.actor(2))
    none = written(world, world.actor(2), Enemy)
    world.positions[0] = 100, 0
    world.step()
    assert pairs_of(by_layer) == [(1, 2), (3, 2)]
    assert pairs_of(turned) == [(2, 1), (2, 3)]
    assert pairs_of(of_one) == pairs_of(none) == []
    assert pairs_of(to_one) == [(1, 2), (3, 2)]
    world.positions[0] = 0, 0
    world.step()
    assert pairs_of(of_one) == [(0, 1), (0, 3)]
    assert pairs_of(none) == [(2, 0)]


@pytest.mark.parametrize("names", [(Bullet,), (Bullet, "wall"), (Bullet, "actor"), ("actor", Bullet)])
def test_enters_stays_and_exits_balance_also_for_removed_actors(names):
    world = world_of(Rocket, None, layers=["shot", "wall"])
    log = written(world, *(world.actor(1) if name == "actor" else name for name in names))
    world.step()
    world.step()
    world.actor(0).layer = "wall"
    world.step()
    world.remove([0])
    world.add(bp.Circle(1), position=(0, 0), actor=Enemy)  # in the same row
    world.step()
    world.step()
    assert [kind for kind, *_ in log] == ["enter", "stay", "stay", "exit"]
    assert {frozenset(event[1:]) for event in log} == {frozenset((0, 1))}


def test_handlers_of_stays_and_exits_are_called_for_pairs_that_touch_already():
    world = world_of(Rocket, None, Enemy)
    world.step()
    late, of_actor = written(world, Bullet, Enemy), written(world, world.actor(2), Bullet)
    world.step()
    world.positions[0] = 50, 0
    world.step()
    assert late == [("stay", 0, 2), ("exit", 0, 2)]
    assert of_actor == [("stay", 2, 0), ("exit", 2, 0)]


def test_random_histories_are_those_of_a_handler_of_all_pairs_that_looks_at_classes():
    rng = np.random.default_rng(0)
    kinds = [None, Bullet, Rocket, Enemy]
    world = bp.World(dim=2)
    names = [(Bullet,), (Rocket, Enemy), (Enemy, Bullet), (bp.Actor, Rocket)]
    logs = [written(world, *some) for some in names]
    known, seen = {}, [[] for _ in names]

    def look(event):
        handles = event.actor.handle, event.other.handle
        for (first, second), log in zip([(*some, bp.Actor)[:2] for some in names], seen, strict=True):
            for one, other in (handles, handles[::-1]):
                if issubclass(known[one], first) and issubclass(known[other], second):
                    log.append((event.kind, one & 0xFFFF_FFFF, other & 0xFFFF_FFFF))
                    break

    for kind in ("enter", "stay", "exit"):
        getattr(world, f"on_{kind}")()(look)
    for _ in range(60):
        for _ in range(rng.integers(0, 4)):
            kind = kinds[rng.integers(4)]
            options = {} if kind is None else {"actor": kind}
            actor = world.add(bp.Circle(0.6), position=rng.uniform(0, 6, 2), **options)
            known[actor.handle] = kind or bp.Actor
        if len(world) > 12:
            world.remove(rng.choice(world.rows, 3, replace=False))
        world.positions[world.rows] += rng.normal(size=(len(world), 2)) * 0.5
        world.step()
    assert logs == seen
    assert all(logs)


def test_what_is_neither_function_nor_layer_nor_actor_nor_class_of_actors_is_refused():
    world = world_of(Bullet, None)
    for given in (dict, int, object, 1.5, True, b"ball", ["ball"], ("ball",)):
        for register in (world.on_enter, world.on_stay, world.on_exit):
            with pytest.raises(TypeError, match=r"first must be a layer .* class derived from Actor, or the function"):
                register(given)
            with pytest.raises(TypeError, match=r"second must be a layer .* class derived from Actor, not"):
                register("default", given)
            with pytest.raises(TypeError, match="second must be a layer"):
                register(world.actor(0), given)
            with pytest.raises(TypeError, match="first must be a layer"):
                register(given, world.actor(0))
    with pytest.raises(TypeError, match="second must be a layer"):
        world.on_enter("default", lambda event: None)
    with pytest.raises(TypeError, match="not the class"):
        world.on_enter(Bullet)(Enemy)
    with pytest.raises(TypeError, match="not the class"):
        world.on_step(Bullet)
    world.step()


def test_copies_and_snapshots_of_a_world_have_no_handlers_by_class_either():
    world = world_of(Bullet, None)
    log = written(world, Bullet)
    again = pickle.loads(pickle.dumps(world))
    for other in (again, copy.deepcopy(world), bp.World.from_bytes(world.to_bytes(), actors={0: Bullet})):
        other.step()
        assert log == []
    third = bp.World.from_bytes(world.to_bytes(), actors={0: Rocket})
    restored = written(third, Bullet)
    third.step()
    assert pairs_of(restored) == [(0, 1)]
