"""The order of the events of one step: exits, enters, stays; each in the order in which they met, then by rows."""

import numpy as np
import pytest

import broadphase as bp

KINDS = ["exit", "enter", "stay"]


def test_bullet_hits_the_wall_before_the_enemy_behind_it():
    world = bp.World(dim=2)
    enemy = world.add(bp.Circle(1), position=(9, 0), layer="enemy")
    wall = world.add(bp.Rectangle(0.2, 8), position=(5, 0), body_type="static", layer="wall")
    bullet = world.add(bp.Circle(0.1), position=(0, 0), velocity=(600, 0), ccd=True, layer="bullet")
    told = []

    @world.on_enter("bullet", "enemy")
    def kill(event):
        told.append(("enemy", event.actor.alive))
        if event.actor.alive:
            event.other.remove()

    @world.on_enter("bullet", "wall")
    def stop(event):
        told.append(("wall", event.actor.alive))
        event.actor.remove()

    frame = world.step(dt=1 / 60)
    assert told == [("wall", True), ("enemy", False)]
    assert (enemy.alive, wall.alive, bullet.alive) == (True, True, False)
    assert frame.enter.tolist() == [[0, 2], [1, 2]]  # arrays are in the order of rows
    assert frame.impacts.times[0] > frame.impacts.times[1]


def test_one_handler_of_all_pairs_is_called_by_time():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(0.5), [[8, 0], [2, 0], [5, 0]], body_type="static")
    world.add(bp.Circle(0.5), position=(0, 0), velocity=(10, 0), ccd=True)
    met = []
    world.on_enter(lambda event: met.append(event.actor.row))
    world.step(1.0)
    assert met == [1, 2, 0]


def test_hooks_are_called_by_time_and_not_for_what_an_earlier_one_removed():
    log = []

    class Wall(bp.Actor):
        def on_enter(self, other):
            log.append((self.data, type(other).__name__))
            other.remove()

    class Bullet(bp.Actor):
        def on_enter(self, other):
            log.append(("bullet", other.data))

    world = bp.World(dim=2)
    for name, x in (("far", 7), ("near", 3)):
        world.add(bp.Rectangle(0.1, 4), position=(x, 0), body_type="static", data=name, actor=Wall)
    world.add(bp.Circle(0.1), position=(0, 0), velocity=(9, 0), ccd=True, actor=Bullet)
    world.step(1.0)
    assert log == [("near", "Bullet")]


def test_pairs_without_an_impact_come_with_those_at_the_end_of_the_step():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 9], [0.5, 9]])  # touch, without ccd
    wall = world.add(bp.Segment((0, -4), (0, 4)), position=(5, 0), body_type="static")
    world.add_many(bp.Circle(1), [[0, 0], [3, -3]], velocities=[[6, 0], [1, 0]], ccd=True)
    met = []
    world.on_enter(lambda event: met.append((event.actor.row, event.other.row, event.impact and event.impact.time)))
    world.step(1.0)
    assert [pair[:2] for pair in met] == [(2, 3), (0, 1), (2, 4)]
    assert met[1][2] is None
    assert met[2][2] == pytest.approx(1.0)
    assert wall.row == 2


def test_step_of_a_world_without_ccd_does_not_look_for_impacts(monkeypatch):
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1, 0]])
    asked = []
    monkeypatch.setattr(bp.world.Frame, "impacts", property(lambda frame: asked.append(frame)))
    world.on_enter(lambda event: None)
    world.step()
    assert asked == []


@pytest.mark.parametrize("seed", range(12))
def test_random_histories_are_told_by_kind_then_time_then_rows(seed):
    rng = np.random.default_rng(seed)
    boundary = ("none", "bounce", "wrap", "remove")[seed % 4]
    world = bp.World(dim=2 + seed % 2, boundary=boundary, bounds=[[0] * (2 + seed % 2), [9] * (2 + seed % 2)])
    make = bp.Circle if world.dim == 2 else bp.Sphere
    world.add_many(
        make(rng.uniform(0.2, 0.9, 60)), rng.uniform(1, 8, (60, world.dim)), ccd=rng.random(60) < 0.3,
        velocities=rng.normal(0, 30, (60, world.dim)), layer=[("a", "b")[k % 2] for k in range(60)],
    )  # fmt: skip
    log = []

    def write(event):
        log.append((event.kind, (event.actor.handle & 0xFFFF_FFFF, event.other.handle & 0xFFFF_FFFF)))

    names = [(), ("a", "b")][seed % 3 > 0]
    for kind in KINDS if seed % 5 else ["enter"]:
        getattr(world, f"on_{kind}")(*names)(write)
        if seed % 2:
            getattr(world, f"on_{kind}")("b")(write)  # a second handler, of the same pairs among others
    disordered = 0
    for _ in range(12):
        log.clear()
        frame = world.step(0.05)
        times = dict(zip(map(tuple, frame.impacts.pairs.tolist()), frame.impacts.times.tolist(), strict=True))
        told = [(kind, tuple(sorted(pair))) for kind, pair in log]
        keys = [(KINDS.index(kind), 0.0 if kind == "exit" else times.get(pair, 1.0), pair) for kind, pair in told]
        assert keys == sorted(keys)
        disordered += told != sorted(told, key=lambda one: (KINDS.index(one[0]), one[1]))
        if not names:
            enters = {pair for kind, pair in told if kind == "enter"}
            assert enters == set(map(tuple, frame.enter.tolist()))
    assert disordered > 0
