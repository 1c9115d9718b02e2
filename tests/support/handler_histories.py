"""Small worlds with handlers; random histories in which handlers change the world and raise; every event is counted."""

from collections import Counter

import numpy as np

import broadphase as bp

NAMES = ["ball", "wall", "mud"]


def world_of(*positions, layers=None, **options):
    """Give a world of circles of radius 1."""
    world = bp.World(dim=2, **options)
    for place, position in enumerate(positions):
        world.add(bp.Circle(1), position=position, layer=None if layers is None else layers[place])
    return world


def written(world, *names):
    """Register handlers of enter, stay and exit; give the list that they write to."""
    log = []
    for kind in ("enter", "stay", "exit"):
        getattr(world, f"on_{kind}")(*names)(
            lambda event: log.append((event.kind, event.actor.handle & 0xFFFF_FFFF, event.other.handle & 0xFFFF_FFFF))
        )
    return log


class Balance:
    """Checks that the events of each pair of handles are enter, stay, ..., stay, exit."""

    def __init__(self, world, *names):
        self.open, self.ends, self.names = Counter(), 0, names
        world.on_enter(*names)(self.enter)
        world.on_stay(*names)(self.stay)
        world.on_exit(*names)(self.exit)

    def enter(self, event):
        assert self.open[self.key(event)] == 0, event
        self.open[self.key(event)] = 1

    def stay(self, event):
        assert self.open[self.key(event)] == 1, event

    def exit(self, event):
        assert self.open.pop(self.key(event), 0) == 1, event
        self.ends += 1

    @staticmethod
    def key(event):
        return frozenset((event.actor.handle, event.other.handle))


class SlipError(Exception):
    """What a handler raises."""


def play(seed, steps):
    """Run a history until all is removed; give the accounts and the number of steps in which a handler raised."""
    rng = np.random.default_rng(seed)
    border = ("none", "bounce", "wrap", "remove")[seed % 4]
    world = bp.World(dim=2, boundary=border, bounds=[[0, 0], [12, 12]])
    for name in NAMES:
        world.layer(name)
    accounts = [Balance(world, *some) for some in ((), ("ball",), ("ball", "wall"), ("mud", "mud"))]

    @world.on_enter("ball", "mud")
    def meddle(event):
        wish = rng.integers(0, 40)
        if wish < 6:
            raise SlipError
        if wish < 10:
            event.other.remove()
        elif wish < 14 and event.actor.alive:
            event.actor.layer = "mud"
        elif wish < 18:
            world.add(bp.Circle(0.5), position=rng.uniform(0, 12, 2), layer="ball")

    slips = 0
    for _ in range(steps):
        change(world, rng)
        budget = bp.Budget(tests=int(rng.integers(1, 60))) if rng.random() < 0.2 else None
        slips += not step_or_slip(world, 0.05, budget)
    world.remove_handler(meddle)
    world.remove(world.rows)
    while not step_or_slip(world, 0.0):
        slips += 1
    ends = [account.ends for account in accounts]
    world.step(0.0)
    assert [account.ends for account in accounts] == ends, "an event was kept back"
    return accounts, slips


def change(world, rng):
    """Add and remove a few bodies, and change their layers."""
    if rng.random() < 0.4:
        count = int(rng.integers(1, 6))
        world.add_many(
            bp.Circle(rng.uniform(0.1, 1, count)),
            rng.uniform(1, 11, (count, 2)),
            velocities=rng.normal(0, 3, (count, 2)),
            layer=[NAMES[number] for number in rng.integers(0, 3, count)],
            ccd=rng.random(count) < 0.1,
            sensor=rng.random(count) < 0.1,
            update_interval=rng.integers(1, 3, count),
        )
    if len(world) and rng.random() < 0.3:
        world.remove(rng.choice(world.rows, min(len(world), 2), replace=False))
    if len(world) and rng.random() < 0.3:
        world.actor(int(rng.choice(world.rows))).layer = NAMES[rng.integers(0, 3)]
        (world.sleep if rng.random() < 0.5 else world.wake)(rng.choice(world.rows))


def step_or_slip(world, dt, budget=None):
    """Step; return whether no handler raised."""
    try:
        world.step(dt, budget=budget)
    except SlipError:
        return False
    return True
