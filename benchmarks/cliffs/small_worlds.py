"""Worlds of few bodies, where a step is as long as the calls that make it: beside pymunk, with actors, with events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import thread_time
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.measuring import load, median_times
from benchmarks.rows import Row, ratio

# Steps in a call that is timed.
_STEPS = 50


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows of steps, of questions after them, of single bodies, of events, and of actors with hooks."""
    yield from _steps(pace)
    yield from _questions(pace)
    yield from _bodies(pace)
    yield from _events(pace)
    yield from _actors(pace)


def _steps(pace: float) -> Iterator[Row]:
    for count, most, share in ((10, 7, 8.0), (100, 9, 1.6), (1000, 30, 0.35)):
        world = _discs(count, 3 * count**0.5, 1.0, radius=0.5, boundary="bounce")
        calls = {"ours": _many(partial(world.step, 1 / 60))}
        if (theirs := _step_of_pymunk(count)) is not None:
            calls["theirs"] = _many(theirs)
        found = median_times(calls, budget=2 * pace)
        microseconds = found["ours"].milliseconds * 1000 / _STEPS
        yield Row(f"step of {count:,} discs", microseconds, "µs", most)
        if theirs is not None:
            yield ratio(f"step of {count:,} discs, of pymunk's time", found["ours"], found["theirs"], share)


def _questions(pace: float) -> Iterator[Row]:
    """Time a step and a question after it, beside a step and the question once more: what the index has to follow."""
    for count, most in ((1000, 10.0), (100_000, 1500.0)):
        world = _discs(count, 3 * count**0.5, 0.02, radius=0.5, boundary="bounce")
        ask = partial(world.query_points, (5.0, 5.0))
        first, second = [], []
        for _ in range(int(200 * pace) + 20 if count < 10_000 else 30):
            world.step(1 / 60)
            began = thread_time()
            ask()
            then = thread_time()
            ask()
            first.append(then - began)
            second.append(thread_time() - then)
        more = float(np.median(first[10:]) - np.median(second[10:])) * 1e6
        yield Row(f"more for the first question after a step, {count:,} discs", more, "µs", most)


def _bodies(pace: float) -> Iterator[Row]:
    """Time what games do with single bodies, in a world of 1,000 discs that has been stepped and queried."""
    world = _discs(1000, 95.0, 1.0, radius=0.5, boundary="bounce")
    world.step(1 / 60)
    world.query_points([(5.0, 5.0)])
    actor = world.actor(500)

    def come_and_go() -> None:
        world.add(bp.Circle(0.5), position=(9.0, 9.0), velocity=(1.0, 0.0), layer="shot").remove()

    def write() -> None:
        actor.position = (5.0, 5.0)

    calls = {"add and remove": _many(come_and_go), "position": _many(lambda: actor.position), "write": _many(write)}
    if (theirs := _body_of_pymunk()) is not None:
        calls["theirs"] = _many(theirs)
    found = median_times(calls, budget=pace)
    names = {"add and remove": ("add and remove a disc", 20.0), "position": ("actor.position read", 1.0)}
    for call, (name, most) in (names | {"write": ("actor.position written", 1.5)}).items():
        yield Row(name, found[call].milliseconds * 1000 / _STEPS, "µs", most)
    if theirs is not None:
        yield ratio("add and remove a disc, of pymunk's time", found["add and remove"], found["theirs"], 1.0)


def _events(pace: float) -> Iterator[Row]:
    """Time steps of 200 discs of which some twenty pairs begin to touch in each, without a handler and with one."""
    plain, heard = (_discs(200, 18.0, 9.0, radius=0.3, boundary="wrap") for _ in range(2))
    heard.on_enter(lambda _: None)
    calls = {name: _many(partial(world.step, 1 / 60)) for name, world in (("plain", plain), ("heard", heard))}
    found = median_times(calls, budget=2 * pace)
    events = sum(len(plain.step(1 / 60).enter) for _ in range(200)) / 200
    more = (found["heard"].milliseconds - found["plain"].milliseconds) / _STEPS
    yield Row("an event for one on_enter handler", more * 1000 / events, "µs", 1.3)


class _Going(bp.Actor):
    def update(self, info: bp.world.StepInfo) -> None:
        self.velocity = (1.0, 0.5)


class _Turning(bp.Actor):
    def update(self, info: bp.world.StepInfo) -> None:
        across, up = self.velocity
        self.velocity = (-up, across)


def _actors(pace: float) -> Iterator[Row]:
    steps = {}
    for kind in (_Going, _Turning):
        world, rng = bp.World(2), np.random.default_rng(4)
        for place in rng.random((1000, 2)) * 60:
            world.add(bp.Circle(0.3), position=place, velocity=rng.normal(size=2), actor=kind)
        steps[kind.__name__] = partial(world.step, 1 / 60)
    found = median_times(steps, budget=pace)
    yield Row("step of 1,000 actors whose hooks write a velocity", found["_Going"].milliseconds, "ms", 1.2)
    yield Row("step of 1,000 actors whose hooks read it, too", found["_Turning"].milliseconds, "ms", 2.2)


def _discs(count: int, edge: float, speed: float, *, radius: float, boundary: Any) -> bp.World:
    rng = np.random.default_rng(count)
    world = bp.World(2, bounds=np.array([[0.0, 0.0], [edge, edge]]), boundary=boundary)
    places, velocities = rng.random((count, 2)) * edge, rng.normal(size=(count, 2)) * speed
    world.add_many(bp.Circle(radius), places, velocities=velocities)
    return world


def _step_of_pymunk(count: int) -> Callable[[], Any] | None:
    try:
        pymunk = load("pymunk")
    except ImportError:
        return None
    rng, space, edge = np.random.default_rng(count), pymunk.Space(), 3 * count**0.5
    corners = [(0, 0), (edge, 0), (edge, edge), (0, edge)]
    for begin, end in zip(corners, corners[1:] + corners[:1], strict=True):  # so that all stay where they meet
        wall = pymunk.Segment(space.static_body, begin, end, 1.0)
        wall.elasticity = 1.0
        space.add(wall)
    for place, velocity in zip(rng.random((count, 2)) * edge, rng.normal(size=(count, 2)), strict=True):
        body = pymunk.Body(1.0, 1.0)
        body.position, body.velocity = tuple(place), tuple(velocity)
        disc = pymunk.Circle(body, 0.5)
        disc.elasticity = 1.0
        space.add(body, disc)
    return partial(space.step, 1 / 60)


def _body_of_pymunk() -> Callable[[], Any] | None:
    try:
        pymunk = load("pymunk")
    except ImportError:
        return None
    rng, space = np.random.default_rng(1000), pymunk.Space()

    def disc(place: tuple[float, float]) -> tuple[Any, Any]:
        body = pymunk.Body(1.0, 1.0)
        body.position, body.velocity = place, (1.0, 0.0)
        return body, pymunk.Circle(body, 0.5)

    for place in rng.random((1000, 2)) * 95.0:
        space.add(*disc(tuple(place)))
    space.step(1 / 60)

    def come_and_go() -> None:
        made = disc((9.0, 9.0))
        space.add(*made)
        space.remove(*made)

    return come_and_go


def _many(step: Callable[[], Any]) -> Callable[[], None]:
    for _ in range(100):
        step()

    def run() -> None:
        for _ in range(_STEPS):
            step()

    return run
