"""The adapter of mesa: cases of its own tests, and random histories of spaces that must stay the same in both."""

import numpy as np
import pytest

pytest.importorskip("mesa", reason="mesa is not installed")
import mesa
from mesa.experimental import continuous_space as theirs
from mesa.space import ContinuousSpace as TheirLegacySpace

from broadphase.adapters import mesa as ours

PLACES = [(0.1, 0.1), (0.1, 0.9), (0.9, 0.1), (0.9, 0.9), (0.5, 0.5)]


def made(places, *, torus=False, kind=ours.ContinuousSpace, agent=ours.ContinuousSpaceAgent, bounds=None):
    model = mesa.Model(seed=42)
    places = np.asarray(places, np.float64)
    bounds = [[0, 1]] * places.shape[1] if bounds is None else bounds
    space = kind(bounds, torus=torus, random=model.random)
    for place in places:
        agent(space, model).position = place
    space.model = model
    return space


def twins(places, **options):
    """The same space twice: of mesa, and ours."""
    return made(places, kind=theirs.ContinuousSpace, agent=theirs.ContinuousSpaceAgent, **options), made(
        places, **options
    )


def outcome(call, space):
    """Rows and distances, or the error, in a form that compares."""
    try:
        agents, distances = call(space)
    except (ValueError, IndexError) as error:
        return type(error), str(error)
    return [space._agent_to_index[agent] for agent in agents], distances.dtype, distances.tobytes()


def check_queries(their_space, our_space, point, radius, row, k):
    for call in (
        lambda space: space.get_agents_in_radius(point, radius),
        lambda space: space.active_agents[row].get_neighbors_in_radius(radius),
    ):
        assert outcome(call, our_space) == outcome(call, their_space)
    distances = their_space.calculate_distances(point)[0]
    if k < len(distances):
        nearest = np.lexsort((np.arange(len(distances)), distances))[:k]
        assert outcome(lambda space: space.get_k_nearest_agents(point, k), our_space) == (
            nearest.tolist(),
            distances.dtype,
            distances[nearest].tobytes(),
        )
    else:
        call = lambda space: space.get_k_nearest_agents(point, k)  # noqa: E731
        assert outcome(call, our_space) == outcome(call, their_space)
    distances = their_space.calculate_distances(their_space.active_agents[row].position)[0]
    if k + 1 < len(distances):
        nearest = [one for one in np.lexsort((np.arange(len(distances)), distances))[: k + 1].tolist() if one != row]
        found = outcome(lambda space: space.active_agents[row].get_nearest_neighbors(k), our_space)
        assert found[0] == nearest
        assert found[2] == distances[nearest].tobytes()


def test_private_attributes_of_mesas_space_are_what_is_read_and_written_here():
    space = made(PLACES, kind=theirs.ContinuousSpace, agent=theirs.ContinuousSpaceAgent)
    agents = list(space.active_agents)
    assert vars(space)["_agent_to_index"] == {agent: row for row, agent in enumerate(agents)}
    assert vars(space)["_index_to_agent"] == dict(enumerate(agents))
    assert vars(space)["_n_agents"] == len(agents)
    assert vars(space)["_agent_positions"][: len(agents)].tolist() == space.agent_positions.tolist()
    assert space.agent_positions.base is space._agent_positions
    space._remove_agent(agents[2])  # what `remove` of an agent calls
    assert space.agent_positions.tolist() == [list(place) for number, place in enumerate(PLACES) if number != 2]
    assert space._agent_to_index == {agent: row for row, agent in enumerate(space.active_agents)}
    assert space._n_agents == 4


def test_private_attributes_of_mesas_legacy_space_are_what_is_read_and_written_here():
    model = mesa.Model(seed=1)
    space, agent = TheirLegacySpace(1, 1, False), mesa.Agent(model)
    space.place_agent(agent, (0.5, 0.25))
    assert list(space._agent_to_index) == [agent]
    assert space._agent_points is None
    space._build_agent_cache()
    assert space._agent_points.tolist() == [[0.5, 0.25]]
    assert (space._agent_to_index, dict(space._index_to_agent)) == ({agent: 0}, {0: agent})
    space.move_agent(agent, (0.75, 0.5))
    assert space._agent_points.tolist() == [[0.75, 0.5]]
    space.remove_agent(agent)
    assert space._agent_points is None


# What mesa's own tests check, case by case.


def test_space_has_the_fields_of_mesa():
    space = ours.ContinuousSpace(np.asarray([[0, 2], [-2, 0], [-2, 2]]), torus=False, random=mesa.Model(seed=1).random)
    assert space.ndims == 3
    assert space.size.tolist() == [2, 2, 4]
    assert space.center.tolist() == [1, -1, 0]
    assert (space.x_min, space.x_max, space.y_min, space.y_max, space.width, space.height) == (0, 2, -2, 0, 2, 2)
    assert len(space.agents) == 0
    assert space.in_bounds([1, -1, 0])
    assert not any(map(space.in_bounds, ([-0.5, -1, 0], [2.5, -1, 0], [1, 0.5, 0], [1, -1, -3], [-0.5, -1, 3])))


def test_position_outside_is_wrapped_in_a_torus_and_refused_elsewhere():
    space = made([(0.5, 0.5)], torus=True)
    space.active_agents[0].position = [1.1, -0.1]
    np.testing.assert_allclose(space.active_agents[0].position, [0.1, 0.9])
    space = made([(0.5, 0.5)])
    with pytest.raises(ValueError, match="outside the bounds of the space"):
        space.active_agents[0].position = [1.1, 1.1]
    assert space.active_agents[0].position.tolist() == [0.5, 0.5]


def test_agents_that_are_added_and_removed_keep_their_positions():
    random = np.random.default_rng(0)
    places = random.random((110, 2))  # more than the room that a space begins with
    space = made(places)
    expected = dict(zip(space.active_agents, places.tolist(), strict=True))
    assert space.agent_positions.shape == (110, 2)
    for left, agent in enumerate(random.permutation(space.active_agents).tolist()):
        assert {one: one.position.tolist() for one in space.active_agents} == expected
        assert len(space.get_agents_in_radius([0.5, 0.5], 2)[0]) == 110 - left
        agent.remove()
        del expected[agent]
        assert space.agent_positions.shape == (109 - left, 2)
        assert agent.space is None


@pytest.mark.parametrize(
    ("torus", "point", "radius", "count"),
    [
        (False, [0.1, 0.1], 0.1, 1),
        (False, [0.5, 0.1], 0.4, 3),
        (False, [0.5, 0.5], 1, 5),
        (True, [0.0, 0.1], 0.1, 2),
        (True, [0.5, 0.5], 0, 1),
    ],
)
def test_radius_of_mesas_tests_finds_as_many_agents(torus, point, radius, count):
    agents, distances = made(PLACES, torus=torus).get_agents_in_radius(point, radius=radius)
    assert len(agents) == len(distances) == count


def test_neighbors_of_mesas_tests_are_found_without_the_agent_itself():
    space = made(PLACES)
    assert len(space.active_agents[-1].get_neighbors_in_radius(1)[0]) == 4
    assert len(space.active_agents[-1].get_neighbors_in_radius(0.1)[0]) == 0
    assert len(space.active_agents[0].get_nearest_neighbors(k=2)[0]) == 2
    agents, distances = made(PLACES, torus=True).active_agents[0].get_nearest_neighbors(k=2)
    assert len(agents) == 2
    np.testing.assert_allclose(distances, [0.2, 0.2])


def test_distances_and_differences_are_those_of_mesa():
    for torus in (False, True):
        their_space, our_space = twins(PLACES, torus=torus)
        for point in ([0.1, 0.9], [0.9, 0.9]):
            assert (
                our_space.calculate_distances(point)[0].tobytes() == their_space.calculate_distances(point)[0].tobytes()
            )
            chosen = our_space.calculate_difference_vector(point, our_space.active_agents[1:3])
            expected = their_space.calculate_difference_vector(point, their_space.active_agents[1:3])
            assert chosen.tobytes() == expected.tobytes()
    their_space, our_space = twins(PLACES)
    options = {"metric": "cityblock"}
    expected = their_space.calculate_distances([0, 0], **options)[0]
    assert our_space.calculate_distances([0, 0], **options)[0].tolist() == expected.tolist()


# Beyond mesa's tests.


@pytest.mark.parametrize("torus", [False, True])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_differences_of_any_points_and_agents_are_those_of_mesa_to_the_bit(torus, dimension):
    random = np.random.default_rng(dimension)
    for count in (1, 2, 5, 50):
        bounds = np.stack([random.integers(-9, 0, dimension), random.integers(1, 9, dimension)], axis=1)
        places = np.round(random.uniform(*bounds.T, (count, dimension)), count % 2)
        spaces = twins(places, torus=torus, bounds=bounds)
        points = [random.uniform(-20, 20, dimension), np.zeros(dimension), -0.0 * np.ones(dimension), places[0], 3]
        points += [[7] * dimension, np.full(dimension, np.nan), np.full(dimension, -np.inf), np.int8([1] * dimension)]
        points += [np.longdouble(places[0]) + 0.1, np.float32([0.1] * dimension), places[:, np.newaxis][0]]
        points += [np.ma.array(places[0], mask=[True, False, True][:dimension]), np.arange(9.0).reshape(3, 3)]
        for point in points:
            for choose in (
                lambda space: None,
                lambda space: space.active_agents[::2],
                lambda space: iter(space.active_agents[1:]),
                lambda space: space.agents,
                lambda space: [],
                lambda space: [None],
            ):
                results = []
                for space in spaces:
                    try:
                        with np.errstate(all="ignore"):
                            found = space.calculate_difference_vector(point, choose(space))
                        results.append((type(found), found.dtype, np.asarray(found).astype(np.float64).tobytes()))
                    except (ValueError, KeyError, IndexError) as error:
                        results.append((type(error), str(error)))
                assert results[1] == results[0], point


def test_differences_leave_no_position_to_be_looked_at_again():
    space = made(np.random.default_rng(0).random((200, 2)))
    space.get_agents_in_radius([0.5, 0.5], 0.1)
    space.calculate_difference_vector([0.5, 0.5])
    space.calculate_difference_vector([0.5, 0.5], space.active_agents[:3])
    assert space._points.noted == 0

    class Shifted(ours.ContinuousSpace):
        @property
        def agent_positions(self):
            return super().agent_positions + 1

        @agent_positions.setter
        def agent_positions(self, positions):
            ours.ContinuousSpace.agent_positions.fset(self, positions)

    shifted = Shifted([[0, 1], [0, 1]], random=space.model.random)
    ours.ContinuousSpaceAgent(shifted, space.model)
    shifted._agent_positions[0] = 0.5
    assert shifted.calculate_difference_vector([0, 0]).tolist() == [[1.5, 1.5]]


@pytest.mark.parametrize("seed", range(12))
def test_space_written_in_every_way_stays_the_same_as_mesas(seed):
    random = np.random.default_rng(seed)
    dimension, torus = 1 + seed % 3, seed % 2 == 1
    lower = random.integers(-20, 20, dimension)
    size = random.integers(1, 60, dimension)
    bounds = np.stack([lower, lower + size], axis=1).astype([np.int64, np.float64][seed // 2 % 2])
    # Anywhere, on whole numbers, where distances are often equal and at the radius, or in a crowd.
    spread = seed % 4

    def place():
        if spread == 0:
            return np.round(lower + size * random.random(dimension))
        return lower + size * (random.random(dimension) if spread < 3 else 0.5 + 0.01 * random.random(dimension))

    spaces = twins([place() for _ in range(2 + seed * 12)], torus=torus, bounds=bounds)
    held = []
    with np.errstate(all="ignore"):
        for _ in range(60):
            row, to = int(random.integers(len(spaces[0].active_agents))), place()
            agents = [space.active_agents[row] for space in spaces]
            way = int(random.integers(8))
            if way == 0:
                for space, module in zip(spaces, (theirs, ours), strict=True):
                    module.ContinuousSpaceAgent(space, space.model).position = to
            elif way == 1 and len(spaces[0].active_agents) > 3:
                for agent in agents:
                    agent.remove()
            elif way == 2:
                for agent in agents:
                    agent.position = tuple(to.tolist())
            elif way == 3:
                for agent in agents:
                    agent.position[0] = to[0]
            elif way == 4:
                held = [*held[-3:], [agent.position for agent in agents]]
            elif way == 5 and held:
                for view in held[int(random.integers(len(held)))]:
                    view[:] = to
            elif way == 6:
                for space in spaces:
                    space.agent_positions[row:] = to
            elif way == 7 and seed > 8:
                worst = random.choice([np.nan, np.inf, -1e300, -0.0])
                for agent in agents:
                    agent.position[-1] = worst
            row = int(random.integers(len(spaces[0].active_agents)))
            radius = random.choice([0, 0.1, 1.0, 5.0, 20.0, 1000.0, -1.0]).item()
            point = place() if random.random() < 0.7 else random.normal(size=dimension) * 100
            point = [point, point.tolist(), point.astype(np.float32)][int(random.integers(3))]
            if np.isnan(spaces[0].agent_positions).any():
                call = lambda space, point=point, radius=radius: space.get_agents_in_radius(point, radius)  # noqa: E731
                assert outcome(call, spaces[1]) == outcome(call, spaces[0])
            else:
                k = int(random.integers(1, len(spaces[0].active_agents) + 2))
                check_queries(*spaces, point, radius, row, k)


@pytest.mark.parametrize("torus", [False, True])
@pytest.mark.parametrize(
    "places",
    [
        np.full((300, 2), 0.25),
        np.concatenate([np.random.default_rng(0).random((300, 2)) * 1e-6, [[1, 1]]]),
        np.random.default_rng(0).integers(0, 8, (300, 2)) / 8,
        np.random.default_rng(0).random((300, 3)),
        np.column_stack([np.linspace(0, 1, 300), np.zeros(300)]),
    ],
    ids=["one spot", "one far", "lattice", "space", "line"],
)
def test_crowds_and_lattices_give_mesas_agents(places, torus):
    spaces = twins(places, torus=torus)
    for row in (0, 150, 299):
        for radius, k in ((0, 1), (1e-7, 5), (0.125, 100), (3, 298)):
            check_queries(*spaces, places[row], radius, row, k)


def test_query_compares_few_agents_however_many_there_are():
    places = np.random.default_rng(0).random((20_000, 2))
    space = made(places[:1], torus=True)
    space._agent_positions = places.copy()
    space.active_agents = [object() for _ in places]
    space._n_agents, space.agent_positions = len(places), space._agent_positions[:]
    compared = []
    for row in range(50):
        space._points.move(row, places[row] / 2, space.dimensions)
        before = space._points.comparisons
        agents, _ = space.get_agents_in_radius(places[row], 0.02)
        space.get_k_nearest_agents(places[row], 10)
        assert len(agents) > 5
        compared.append(space._points.comparisons - before)
    assert np.median(compared) < 300
    assert space._points.noted == 0


def test_views_are_looked_at_as_long_as_they_are_held():
    space = made(np.random.default_rng(0).random((200, 2)))
    space.get_agents_in_radius([0.5, 0.5], 0.1)
    assert space._points.noted == 0
    views = [space.active_agents[row].position for row in (3, 4, 5)]
    for row, view in zip((3, 4, 5), views, strict=True):
        view[:] = 0.5
        agents, _ = space.get_agents_in_radius([0.5, 0.5], 0)
        assert space.active_agents[row] in agents
        assert space._points.noted == 3
    row = views[0][:1]  # of a view
    del views, view
    space.get_agents_in_radius([0.5, 0.5], 0)
    row[0] = 0.25
    assert space.active_agents[3] in space.get_agents_in_radius([0.25, 0.5], 0)[0]
    del row
    space.get_agents_in_radius([0.5, 0.5], 0)
    assert space._points.noted == 0
    for agent in space.active_agents[:50]:  # the point is a view
        space.get_agents_in_radius(agent.position, 0.1)
        assert space._points.noted <= 1
    everything = space.agent_positions
    space.get_agents_in_radius([0.5, 0.5], 0.1)
    everything[7] = 0.125
    assert space.active_agents[7] in space.get_agents_in_radius([0.125, 0.125], 0)[0]
    del everything
    space.get_agents_in_radius([0.5, 0.5], 0.1)
    assert space._points.noted == 0


def test_mesas_agents_in_our_space_and_ours_in_mesas_are_found():
    places = np.random.default_rng(0).random((100, 2))
    spaces = [
        made(places, kind=kind, agent=agent, torus=True)
        for kind in (theirs.ContinuousSpace, ours.ContinuousSpace)
        for agent in (theirs.ContinuousSpaceAgent, ours.ContinuousSpaceAgent)
    ]
    for row in range(20):
        for space in spaces:
            space.active_agents[row].position += 0.3
        found = [outcome(lambda one, row=row: one.active_agents[row].get_neighbors_in_radius(0.2), s) for s in spaces]
        assert all(one == found[0] for one in found)


def test_subclasses_that_replace_methods_are_asked():
    class Blocks(ours.ContinuousSpace):
        def calculate_distances(self, point, agents=None, **options):
            return np.abs(self.agent_positions - point).sum(axis=1), self.active_agents

    class Wide(ours.ContinuousSpace):
        def in_bounds(self, point):
            return True

    class Twice(ours.ContinuousSpace):
        def get_agents_in_radius(self, point, radius=1):
            agents, distances = super().get_agents_in_radius(point, radius)
            return agents * 2, np.concatenate([distances, distances])

    class Shifted(ours.ContinuousSpaceAgent):
        @property
        def position(self):
            return super().position + 0.4

        @position.setter
        def position(self, value):
            self.space.agent_positions[self.space._agent_to_index[self]] = value

    space = made(PLACES, kind=Blocks)
    assert len(space.get_agents_in_radius([0.1, 0.1], 0.5)[0]) == 1
    assert len(space.active_agents[0].get_neighbors_in_radius(0.8)[0]) == 3
    assert sorted(space.get_k_nearest_agents([0.1, 0.1], 2)[1].tolist()) == [0, 0.8]
    space = made(PLACES, kind=Wide)
    space.active_agents[0].position = [7, 7]
    assert space.get_agents_in_radius([7, 7], 0)[0] == space.active_agents[:1]
    space = made(PLACES, kind=Twice)
    assert len(space.active_agents[-1].get_neighbors_in_radius(1)[0]) == 8
    space = made(PLACES, agent=Shifted)
    assert space.active_agents[0].get_neighbors_in_radius(0.1)[0] == [space.active_agents[4]]


def test_space_that_changes_its_size_measures_by_the_new_one():
    spaces = twins(PLACES, torus=True)
    check_queries(*spaces, [0.0, 0.1], 0.3, 0, 2)
    for space in spaces:
        space.size = np.array([3.0, 3.0])
        space.dimensions = np.array([[0.0, 3.0], [0.0, 3.0]])
        space.active_agents[0].position = [2.9, 0.1]
    check_queries(*spaces, [0.0, 0.1], 0.3, 0, 2)
    for space in spaces:
        space.size[:] = 5
        space.torus = False
    check_queries(*spaces, [0.0, 0.1], 0.3, 0, 2)


def test_arguments_that_are_no_plain_numbers_get_mesas_answer():
    spaces = twins(np.random.default_rng(0).random((30, 2)))
    for point in (0.5, [[0.5, 0.5]], [0.5], ["a", "b"], None, [True, False], np.float16([0.5, 0.5])):
        for radius in (0.3, np.float32(0.3), np.float64(0.3), 1, True, np.inf, np.nan, "1", None):
            results = []
            for space in spaces:
                try:
                    agents, distances = space.get_agents_in_radius(point, radius)
                    results.append(([space._agent_to_index[one] for one in agents], distances.tolist()))
                except Exception as error:
                    results.append((type(error), str(error)))
            assert results[0] == results[1], (point, radius)
    for k in (0, -1, 30, 31, np.int64(3), 2.5):
        results = []
        for space in spaces:
            try:
                results.append(sorted(space.get_k_nearest_agents([0.5, 0.5], k)[1].tolist()))
            except Exception as error:
                results.append((type(error), str(error)))
        assert results[0] == results[1], k


# The older space.


def test_legacy_space_of_mesas_tests_finds_the_same():
    for torus in (False, True):
        space = ours.LegacyContinuousSpace(70, 20, torus, -30, -30)
        model = mesa.Model(seed=1)
        agents = [mesa.Agent(model) for _ in range(3)]
        for agent, place in zip(agents, [(-20, -20), (-20, -20.05), (65, 18)], strict=True):
            space.place_agent(agent, place)
        assert len(space.get_neighbors((-20, -20), 1)) == 2
        assert len(space.get_neighbors((40, -10), 10)) == 0
        assert len(space.get_neighbors((-30, -30), 10)) == (1 if torus else 0)
        space.move_agent(agents[2], (-21, -20))
        assert len(space.get_neighbors((-20, -20), 1)) == 3
        assert len(space.get_neighbors((-20, -20), 1, include_center=False)) == 2
        space.remove_agent(agents[0])
        assert agents[0].pos is None
        assert space.get_neighbors((-20, -20), 1) == agents[1:]
        with pytest.raises(Exception, match="does not exist"):
            space.remove_agent(agents[0])


@pytest.mark.parametrize("seed", range(12))
def test_legacy_space_with_any_positions_stays_the_same_as_mesas(seed):
    random = np.random.default_rng(seed)
    lower = random.integers(-20, 20, 2)
    size = random.integers(2, 60, 2)
    corners = [*(lower + size).tolist(), seed % 2 == 1, *lower.tolist()]
    spaces = TheirLegacySpace(*corners), ours.LegacyContinuousSpace(*corners)
    model, lists = mesa.Model(seed=1), ([], [])

    def place():
        numbers = lower + size * random.random(2)
        forms = [
            lambda: tuple(numbers.tolist()),
            lambda: tuple(np.floor(numbers).astype(int).tolist()),
            lambda: numbers,
            lambda: numbers.astype(np.float32),
        ]
        return forms[seed % 4]()

    def add():
        to = place()
        for space, agents in zip(spaces, lists, strict=True):
            agents.append(mesa.Agent(model))
            space.place_agent(agents[-1], to)

    for _ in range(5 + 10 * seed):
        add()
    for _ in range(40):
        row, way, to = int(random.integers(len(lists[0]))), int(random.integers(6)), place()
        if way == 0:
            add()
        elif way == 1 and len(lists[0]) > 2:
            for space, agents in zip(spaces, lists, strict=True):
                space.remove_agent(agents.pop(row))
        elif way < 5:
            for space, agents in zip(spaces, lists, strict=True):
                space.move_agent(agents[row], (to[0], to[1]))
        for point in (place(), lists[0][-1].pos, [-100, 3.5]):
            radius = random.choice([0, 0.1, 1, 5, 20, 1000, -1]).item()
            for includes in (False, True):
                found = [
                    [agents.index(one) for one in space.get_neighbors(point, radius, includes)]
                    for space, agents in zip(spaces, lists, strict=True)
                ]
                assert found[0] == found[1]
