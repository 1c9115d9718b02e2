"""Agents: `broadphase.adapters.mesa` beside mesa."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.adapters import faster
from benchmarks.measuring import load
from benchmarks.rows import Row

#: Number of agents, and the least ratio: at 10⁴ it is the target, at 100 no loss.
COUNTS = ((100, 1.0), (1000, None), (10_000, 20.0), (100_000, 20.0))
#: Agents that query and move in one go of a row.
MOVERS = 20
SIDE = 100.0
NEIGHBORS = 10


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows; each takes some seconds times `pace`."""
    load("mesa", "mesa")
    for dimension, torus in ((2, False), (2, True), (3, True)):
        for count, least in COUNTS:
            if dimension == 3 and count != 10_000:
                continue
            yield from in_space(dimension, torus, count, least, pace)
    for torus in (False, True):
        for count, least in COUNTS:
            theirs, ours = (legacy(kind, count, torus) for kind in legacy_kinds())
            where = f"{count:,} agents, {'torus' if torus else 'plane'}"
            yield faster(f"mesa.space: get_neighbors and move_agent, {where}", theirs, ours, least, pace)
    yield from off_the_road(pace)


def in_space(dimension: int, torus: bool, count: int, least: float | None, pace: float) -> Iterator[Row]:
    """Yield the rows of ``mesa.experimental.continuous_space``."""
    where = f"{count:,} agents, {dimension}D{' torus' if torus else ''}"
    places = np.random.default_rng(0).random((count, dimension)) * SIDE
    theirs, ours = (space_of(kinds, places, torus) for kinds in kinds_of_space())
    reach = radius_of(count, dimension)
    place = np.full(dimension, SIDE / 3)
    for name, number in (("get_agents_in_radius", reach), ("get_k_nearest_agents", NEIGHBORS)):
        calls = [
            lambda space=space, name=name, number=number: getattr(space, name)(place, number)
            for space in (theirs, ours)
        ]
        yield faster(f"{name}, {where}", calls[0], calls[1], least, pace)
    yield faster(
        f"get_neighbors_in_radius, then move, {where}", stepped(theirs, reach), stepped(ours, reach), least, pace
    )


def off_the_road(pace: float) -> Iterator[Row]:
    """Yield the rows of crowds, and of agents that come and go."""
    places = np.random.default_rng(0).random((10_000, 2)) * SIDE
    crowd = np.full((10_000, 2), SIDE / 2)
    few_far = np.concatenate((places / 1000, [[SIDE, SIDE]]))
    for what, where, reach, least in (
        ("all at one spot", crowd, 1.0, 1.0),
        ("one far from the others", few_far, radius_of(10_000, 2) / 1000, 20.0),
        ("radius over all", places, 2 * SIDE, 1.0),
    ):
        theirs, ours = (space_of(kinds, where, False) for kinds in kinds_of_space())
        yield faster(f"{what}, 10,000 agents", stepped(theirs, reach), stepped(ours, reach), least, pace)
    theirs, ours = (space_of(kinds, crowd, False) for kinds in kinds_of_space())
    nearest = [lambda space=space: space.get_k_nearest_agents(crowd[0], NEIGHBORS) for space in (theirs, ours)]
    yield faster("10 nearest, all at one spot, 10,000 agents", nearest[0], nearest[1], 1.0, pace)
    theirs, ours = (space_of(kinds, places, True) for kinds in kinds_of_space())
    nearest = [lambda space=space: space.get_k_nearest_agents(places[0], 9999) for space in (theirs, ours)]
    yield faster("9,999 nearest of 10,000 agents", nearest[0], nearest[1], None, pace)
    theirs, ours = (space_of(kinds, places, True) for kinds in kinds_of_space())
    reach = radius_of(10_000, 2)
    yield faster(
        "one removed, one added, query, 10,000 agents", renewed(theirs, reach), renewed(ours, reach), 1.0, pace
    )
    theirs, ours = (space_of(kinds, places, True) for kinds in kinds_of_space())

    def written(space: Any) -> Any:
        def call() -> None:
            space.agent_positions[:] += 0.001
            space.get_agents_in_radius(places[0], reach)

        return call

    yield faster("all positions written, query, 10,000 agents", written(theirs), written(ours), 1.0, pace)
    theirs, ours = (legacy(kind, 10_000, True, renew=True) for kind in legacy_kinds())
    yield faster("mesa.space: removed and placed, query, 10,000 agents", theirs, ours, 1.0, pace)


def radius_of(count: int, dimension: int) -> float:
    """Return the radius that holds ten agents."""
    return float(SIDE * (NEIGHBORS / count / {2: math.pi, 3: math.pi * 4 / 3}[dimension]) ** (1 / dimension))


def kinds_of_space() -> list[tuple[Any, Any]]:
    """Return the classes of spaces and agents, theirs and ours."""
    modules = (
        load("mesa.experimental.continuous_space", "mesa"),
        load("broadphase.adapters.mesa", "mesa"),
    )
    return [(module.ContinuousSpace, module.ContinuousSpaceAgent) for module in modules]


def legacy_kinds() -> list[Any]:
    """Return the classes of older spaces, theirs and ours."""
    return [load("mesa.space", "mesa").ContinuousSpace, load("broadphase.adapters.mesa", "mesa").LegacyContinuousSpace]


def space_of(kinds: tuple[Any, Any], places: Any, torus: bool) -> Any:
    """Make a space with an agent at each place."""
    model = load("mesa", "mesa").Model(seed=1)
    kind, agent = kinds
    space = kind([[0, SIDE]] * places.shape[1], torus=torus, random=model.random, n_agents=len(places))
    space.model, space.agent = model, agent
    for place in places:
        agent(space, model).position = place
    return space


def stepped(space: Any, reach: float) -> Callable[[], None]:
    """Return a call in which some agents look around and move."""
    agents = space.active_agents
    steps = np.random.default_rng(1).normal(size=(MOVERS, space.ndims)) * reach / 10
    chosen = np.random.default_rng(2).integers(0, len(agents), MOVERS).tolist()

    def step() -> None:
        for row, way in zip(chosen, steps, strict=True):
            agent = agents[row]
            agent.get_neighbors_in_radius(reach)
            to = agent.position + way
            agent.position = to if space.torus else to.clip(0, SIDE)

    return step


def renewed(space: Any, reach: float) -> Callable[[], None]:
    """Return a call in which an agent goes, another one comes, and looks around."""

    def renew() -> None:
        place = space.active_agents[5000].position.copy()
        space.active_agents[5000].remove()
        agent = space.agent(space, space.model)
        agent.position = place
        agent.get_neighbors_in_radius(reach)

    return renew


def legacy(kind: Any, count: int, torus: bool, renew: bool = False) -> Callable[[], None]:
    """Return a call in which some agents of an older space look around and move, or go and come back."""
    mesa = load("mesa", "mesa")
    model, space = mesa.Model(seed=1), kind(SIDE, SIDE, torus)
    rng = np.random.default_rng(0)
    agents = [mesa.Agent(model) for _ in range(count)]
    for agent, place in zip(agents, (rng.random((count, 2)) * SIDE).tolist(), strict=True):
        space.place_agent(agent, tuple(place))
    reach = radius_of(count, 2)
    ways = rng.normal(size=(MOVERS, 2)).tolist()
    chosen = [agents[row] for row in rng.integers(0, count, MOVERS).tolist()]

    def step() -> None:
        for agent, (x, y) in zip(chosen, ways, strict=True):
            place = agent.pos
            if renew:
                space.remove_agent(agent)
                space.place_agent(agent, place)
            space.get_neighbors(place, reach)
            if not renew:
                space.move_agent(agent, ((place[0] + x / 10) % SIDE, (place[1] + y / 10) % SIDE))

    return step
