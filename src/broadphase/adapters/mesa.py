"""Continuous spaces of agents as in mesa: same arguments, same agents.

`ContinuousSpace` and `ContinuousSpaceAgent` stand in for those of ``mesa.experimental.continuous_space``, and
`LegacyContinuousSpace` for ``mesa.space.ContinuousSpace``. Agents are kept in the cells of a grid, which follows when
their positions are written. Distances are mesa's, to the bit; docstrings say what differs. What the core does not take
is left to mesa.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase._native import MovingPoints, places_of
from broadphase.extras import import_extra

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

__all__ = ["ContinuousSpace", "ContinuousSpaceAgent", "LegacyContinuousSpace"]

theirs: Any = import_extra("mesa.experimental.continuous_space", purpose=__name__, install="mesa")
_legacy: Any = import_module("mesa.space")

_MOST_AXES = 8
# The squares of differences of integers up to this are doubles without rounding.
_MOST_EXACT = 2**25


class ContinuousSpace(theirs.ContinuousSpace):  # type: ignore[misc]  # mesa has no types
    """A space in which agents have positions, as ``mesa.experimental.continuous_space.ContinuousSpace``.

    Takes the same arguments. Positions may be written in every way that mesa knows: by ``agent.position``, through
    arrays that were taken from it, and through ``agent_positions``. With mesa's own class of agents, each query looks
    through all positions for changes; with `ContinuousSpaceAgent`, only through those that may have changed.

    Examples
    --------
    >>> import mesa
    >>> from broadphase.adapters.mesa import ContinuousSpace, ContinuousSpaceAgent
    >>> model = mesa.Model(seed=1)
    >>> space = ContinuousSpace([[0, 100], [0, 100]], torus=True, random=model.random)
    >>> for x in range(0, 100, 10):
    ...     ContinuousSpaceAgent(space, model).position = [x, 50]
    >>> agents, distances = space.get_agents_in_radius([1, 50], 11)
    >>> [agent.position.tolist() for agent in agents], distances
    ([[0.0, 50.0], [10.0, 50.0], [90.0, 50.0]], array([ 1.,  9., 11.]))
    """

    # Subclasses may replace what queries are made of in mesa: then mesa answers.
    _measures_as_mesa = _finds_as_mesa = _bounds_as_mesa = _places_as_mesa = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)

        def keeps(*names: str) -> bool:
            return all(getattr(cls, name) is getattr(ContinuousSpace, name) for name in names)

        cls._measures_as_mesa = keeps("calculate_distances", "agent_positions")
        cls._finds_as_mesa = keeps("get_agents_in_radius", "get_k_nearest_agents") and cls._measures_as_mesa
        cls._places_as_mesa = keeps("agent_positions")
        cls._bounds_as_mesa = keeps("in_bounds", "agent_positions")

    def __init__(self, dimensions: ArrayLike, torus: bool = False, random: Any = None, n_agents: int = 100) -> None:
        self._points: MovingPoints | None = None
        super().__init__(dimensions, torus, random, n_agents)
        if 0 < self.ndims <= _MOST_AXES:
            self._points = MovingPoints(self.ndims, False)

    def __copy__(self) -> Self:
        # As in mesa, it shares all with the original; that is told of writes alone, so mesa answers for the copy.
        copied = type(self).__new__(type(self))
        copied.__dict__.update(vars(self), _points=None)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_points": self._points is not None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _points=None)
        if not state["_points"]:
            return
        self._points = MovingPoints(self.ndims, False)
        if "_positions" in state:  # there are agents
            positions, room = self._positions, self._agent_positions
            if positions.shape[1:] == room.shape[1:] and len(positions) <= len(room):
                room[: len(positions)] = positions  # of which it was a part
                positions = room[: len(positions)]
            self.agent_positions = positions

    @property
    def agent_positions(self) -> NDArray[np.float64]:
        """The positions of all agents, shape (n, d), to read and to write."""
        if self._points is not None:
            self._points.note_all()
        return self._positions

    @agent_positions.setter
    def agent_positions(self, positions: NDArray[np.float64]) -> None:
        self._positions = positions
        if self._points is not None and not self._points.adopt(positions, self._agent_positions):
            self._points = None

    def _remove_agent(self, agent: Any) -> None:
        agents, rows, removed = self.active_agents, self._agent_to_index, self._agent_to_index[agent]
        del rows[agent], agents[removed]
        count = self._n_agents = len(agents)
        rows.update(zip(agents[removed:], range(removed, count), strict=True))
        self._index_to_agent.update(zip(range(removed, count), agents[removed:], strict=True))
        del self._index_to_agent[count]
        self._agent_positions[removed:count] = self._agent_positions[removed + 1 : count + 1]
        self.agent_positions = self._agent_positions[:count]

    def calculate_difference_vector(self, point: ArrayLike, agents: Any = None) -> NDArray[np.float64]:
        """Return the vector from a point to each agent, the shorter one in a torus."""
        if agents is None:
            positions = self._positions if self._places_as_mesa else self.agent_positions
        else:
            agents = list(agents)
            rows = list(map(self._agent_to_index.__getitem__, agents))
            positions = self._agent_positions.take(rows, axis=0) if rows else self._agent_positions[:0]
        difference: NDArray[np.float64] = positions - np.asanyarray(point)
        if not self.torus:
            return difference
        other = difference - np.sign(difference) * self.size
        if type(other) is np.ndarray and other.dtype.char == "d":
            np.copyto(other, difference, where=np.abs(difference) < np.abs(other))
            return other
        return super().calculate_difference_vector(point, agents)  # type: ignore[no-any-return]

    def get_agents_in_radius(self, point: ArrayLike, radius: float = 1) -> tuple[list[Any], NDArray[np.float64]]:
        """Find the agents within a radius of a point, in the order in which they were added, and their distances.

        Notes
        -----
        Time O(m + moved) for m agents nearby and those whose position may have been written since the last query. The
        first query, and the first after agents have been removed, is O(n).
        """
        points = self._points
        if points is not None and self._measures_as_mesa:
            found: Any = points.within(self.active_agents, point, -1, radius, self.torus, self.size)
            if found is not None:
                return found  # type: ignore[no-any-return]
        return super().get_agents_in_radius(point, radius)  # type: ignore[no-any-return]

    def get_k_nearest_agents(self, point: ArrayLike, k: int = 1) -> tuple[list[Any], NDArray[np.float64]]:
        """Find the nearest agents, the nearest first, and their distances.

        Of equally near agents, those that were added earlier come first; in mesa, their order depends on the processor.
        Time as for `get_agents_in_radius`.
        """
        points = self._points
        if points is not None and self._measures_as_mesa and type(k) is int and k > 0:
            found: Any = points.nearest(self.active_agents, point, -1, k, self.torus, self.size)
            if found is not None:
                return found  # type: ignore[no-any-return]
        return super().get_k_nearest_agents(point, k)  # type: ignore[no-any-return]


class ContinuousSpaceAgent(theirs.ContinuousSpaceAgent):  # type: ignore[misc]  # mesa has no types
    """An agent in a `ContinuousSpace`, as ``mesa.experimental.continuous_space.ContinuousSpaceAgent``.

    Examples
    --------
    >>> import mesa
    >>> from broadphase.adapters.mesa import ContinuousSpace, ContinuousSpaceAgent
    >>> model = mesa.Model(seed=1)
    >>> space = ContinuousSpace([[0, 9], [0, 9]], random=model.random)
    >>> first, second = ContinuousSpaceAgent(space, model), ContinuousSpaceAgent(space, model)
    >>> first.position, second.position = (1, 1), (4, 5)
    >>> second.position += 1
    >>> neighbors, distances = first.get_neighbors_in_radius(7)
    >>> neighbors == [second], distances.round(2)
    (True, array([6.4]))
    """

    _is_where_mesa_has_it = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._is_where_mesa_has_it = cls.position is ContinuousSpaceAgent.position

    @property
    def position(self) -> NDArray[np.float64]:
        """Where it is: a view of its row of ``space.agent_positions``, to read and to write."""
        space = self.space
        row = space._agent_to_index[self]
        try:
            space._points.note(row)
            return space._positions[row]  # type: ignore[no-any-return]
        except AttributeError:  # a space of mesa's own, or one that mesa answers for
            return space.agent_positions[row]  # type: ignore[no-any-return]

    @position.setter
    def position(self, value: Any) -> None:
        space = self.space
        if isinstance(space, ContinuousSpace) and space._bounds_as_mesa and space._points is not None:
            row = space._agent_to_index[self]
            if space._points.move(row, value, space.dimensions):
                return
            if not space.in_bounds(value):
                if not space.torus:
                    raise ValueError(f"point {value} is outside the bounds of the space")
                value = space.torus_correct(value)
            space._positions[row] = value
            space._points.note(row)
        else:
            theirs.ContinuousSpaceAgent.position.fset(self, value)

    def get_neighbors_in_radius(self, radius: float = 1) -> tuple[list[Any], NDArray[np.float64]]:
        """Find the other agents within a radius; see `ContinuousSpace.get_agents_in_radius`."""
        points = self._searched()
        if points is not None:
            space = self.space
            row = space._agent_to_index[self]
            found: Any = points.within(space.active_agents, None, row, radius, space.torus, space.size)
            if found is not None:
                return found  # type: ignore[no-any-return]
        return super().get_neighbors_in_radius(radius)  # type: ignore[no-any-return]

    def get_nearest_neighbors(self, k: int = 1) -> tuple[list[Any], NDArray[np.float64]]:
        """Find the nearest other agents; see `ContinuousSpace.get_k_nearest_agents`."""
        points = self._searched()
        if points is not None and type(k) is int and k >= 0:
            space = self.space
            row = space._agent_to_index[self]
            found: Any = points.nearest(space.active_agents, None, row, k + 1, space.torus, space.size)
            if found is not None:
                return found  # type: ignore[no-any-return]
        return super().get_nearest_neighbors(k)  # type: ignore[no-any-return]

    def _searched(self) -> MovingPoints | None:
        """Return the points to search; None if a subclass has replaced methods that mesa would call."""
        space = self.space
        if self._is_where_mesa_has_it and isinstance(space, ContinuousSpace) and space._finds_as_mesa:
            return space._points
        return None


class LegacyContinuousSpace(_legacy.ContinuousSpace):  # type: ignore[misc]  # mesa has no types
    """A plane in which agents have positions, as ``mesa.space.ContinuousSpace``, with the same arguments.

    Examples
    --------
    >>> import mesa
    >>> from broadphase.adapters.mesa import LegacyContinuousSpace
    >>> model = mesa.Model(seed=1)
    >>> space = LegacyContinuousSpace(100, 100, torus=True)
    >>> for x in range(0, 100, 10):
    ...     space.place_agent(mesa.Agent(model), (x, 50))
    >>> [agent.pos for agent in space.get_neighbors((1, 50), 11)]
    [(0, 50), (10, 50), (90, 50)]
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._points: MovingPoints | None = None

    def __copy__(self) -> Self:
        # It shares the positions with the original, which is told of moves alone: it reads them again.
        copied = type(self).__new__(type(self))
        copied.__dict__.update(vars(self), _points=None, _agent_points=None)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        # The cache of positions is built again.
        return vars(self) | {"_points": None, "_agent_points": None, "_numbers": None}

    def _build_agent_cache(self) -> None:
        agents = self._index_to_agent = list(self._agent_to_index)
        self._agent_to_index.update(zip(agents, range(len(agents)), strict=True))
        positions: Any = places_of(agents)
        if positions is None:
            positions = np.array([agent.pos for agent in agents])
        self._numbers = self._agent_points = positions
        self._points = None
        if positions.ndim != 2 or positions.shape[1] != 2:
            return
        if positions.dtype.kind == "i" and (np.abs(positions) <= _MOST_EXACT).all():
            self._numbers = positions.astype(np.float64)
        points = MovingPoints(2, True)
        if points.adopt(self._numbers, None):
            self._points = points

    def move_agent(self, agent: Any, pos: Any) -> None:
        """Move an agent."""
        super().move_agent(agent, pos)
        if self._points is not None and self._agent_points is not None:
            row = self._agent_to_index[agent]
            if self._numbers is not self._agent_points:
                self._numbers[row] = self._agent_points[row]
            self._points.note(row)

    def get_neighbors(self, pos: Any, radius: float, include_center: bool = True) -> list[Any]:
        """Find all agents within a radius of a point, in the order in which they were placed.

        Notes
        -----
        Time O(m + moved) for m agents nearby and those that were moved since the last query. The first query after
        agents were placed or removed reads all positions, as in mesa.
        """
        if self._agent_points is None:
            self._build_agent_cache()
        if self._points is not None and type(radius) in (float, int):
            found: Any = self._points.squared_within(
                self._index_to_agent, pos, radius, radius**2, not include_center, self.torus, self.size
            )
            if found is not None:
                return found  # type: ignore[no-any-return]
        return super().get_neighbors(pos, radius, include_center)  # type: ignore[no-any-return]
