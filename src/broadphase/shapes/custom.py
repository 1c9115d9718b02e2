"""Shapes of the user's own types: a bounding box and a test, both given by a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from broadphase.arguments import as_array, as_reals
from broadphase.shapes.kinds import ShapeKind, layout_of, moved
from broadphase.shapes.parameters import as_rows, common_count, side_by_side
from broadphase.shapes.placed import Shapes
from broadphase.shapes.shape import Shape
from broadphase.shapes.turning import as_matrices, quaternions_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["CustomRows", "CustomShape"]


@dataclass(frozen=True, slots=True, eq=False)
class CustomRows:
    """Placed shapes of one type of the user's, one for each pair that is to be tested.

    Attributes
    ----------
    shape_type : type
        The class.
    values : dict of str to ndarray, shape (m,)
        The parameters of each.
    origins : ndarray, shape (m, d)
        Where the origin of each is.
    axes : ndarray, shape (m, d, d)
        How each is rotated: ``axes[k, i]`` is the direction of its axis i.
    """

    shape_type: type[CustomShape]
    values: dict[str, Floats]
    origins: Floats
    axes: Floats

    def __len__(self) -> int:
        return len(self.origins)

    def to_local(self, points: ArrayLike) -> Floats:
        """Give points (m, d) of the world, one for each shape, as seen from its origin and along its axes."""
        local: Floats = np.einsum("mij,mj->mi", self.axes, as_reals(points, "points") - self.origins)
        return local


# What a test is given of the shapes that those of its type are tested with.
Others: TypeAlias = "Shapes | CustomRows"


class CustomShape(Shape):
    """A base for types of shapes of your own: derive a class that has a bounding box and a test.

    Parameters
    ----------
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors.
    **values : float or array_like, shape (n,)
        The parameters that the class names; one that is missing or that it does not name is an error.

    Notes
    -----
    The class states its dimension and the names of its parameters, and defines `bounds` and `overlaps`, both for many
    shapes at once. The class itself is never copied, and instances have no other state than the parameters.

    Shapes of such types are found by everything that asks which shapes overlap: worlds, their queries, `overlaps`. Any
    query that needs more than that, such as a distance, a contact or a ray, raises `UnsupportedQueryError`.

    Examples
    --------
    >>> import broadphase as bp
    >>> import numpy as np
    >>> class Ring(bp.CustomShape, dim=2, parameters=("inner", "outer")):
    ...     @staticmethod
    ...     def bounds(values):
    ...         corner = np.stack([values["outer"], values["outer"]], axis=1)
    ...         return -corner, corner
    ...
    ...     @staticmethod
    ...     def overlaps(rings, others):
    ...         if not isinstance(others, bp.Shapes) or not isinstance(others[0], bp.Point):
    ...             return NotImplemented
    ...         away = np.linalg.norm(rings.to_local(others.positions), axis=1)
    ...         return (rings.values["inner"] <= away) & (away <= rings.values["outer"])
    >>> Ring(inner=[1, 2], outer=3)[1]
    Ring(inner=2.0, outer=3.0)
    >>> rings = bp.Shapes(Ring(inner=1, outer=2), [[0, 0], [0, 1.5]])
    >>> bp.overlaps(rings, bp.Shapes(bp.Point(), [[0, 0]])).tolist()
    [[1, 0]]
    """

    __slots__ = ()
    kind = ShapeKind.CUSTOM

    dimensions: ClassVar[int] = 0
    parameters: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, dim: int | None = None, parameters: Sequence[str] | None = None) -> None:
        super().__init_subclass__()
        if dim is not None:
            cls.dimensions = dim
        if parameters is not None:
            cls.parameters = (parameters,) if isinstance(parameters, str) else tuple(parameters)
        if cls.dimensions not in (2, 3):
            raise ValueError(f"class {cls.__name__}: dim must be 2 or 3, not {dim}")
        for name in cls.parameters:
            if not isinstance(name, str) or not name.isidentifier() or name in ("offset", "rotation"):
                raise ValueError(f"class {cls.__name__}: {name!r} cannot be the name of a parameter")

    def __init__(
        self, *, offset: ArrayLike | None = None, rotation: ArrayLike | None = None, **values: ArrayLike
    ) -> None:
        cls, dim = type(self), self.dimensions
        for name in ("bounds", "overlaps"):
            if getattr(cls, name) is getattr(CustomShape, name):
                raise TypeError(f"class {cls.__name__} must define {name}")
        if missing := [name for name in self.parameters if name not in values]:
            raise TypeError(f"{cls.__name__} needs the parameter {missing[0]}")
        if unknown := [name for name in values if name not in self.parameters]:
            raise TypeError(f"{cls.__name__} has no parameter {unknown[0]}")
        own = {name: as_rows(values[name], name, (), "one number or (n,) numbers") for name in self.parameters}
        count = common_count(own.items())
        corners = self._corners({name: np.broadcast_to(each.rows, count) for name, each in own.items()})
        frame = np.broadcast_to(np.concatenate([np.zeros(1 + dim), np.eye(dim).ravel()]), (count, 1 + dim + dim**2))
        numbers = side_by_side(own) if own else np.empty((count, 0))
        self._place(dim, np.concatenate([frame, corners, numbers], axis=1), own, offset, rotation)

    @staticmethod
    def bounds(values: Mapping[str, Floats]) -> tuple[ArrayLike, ArrayLike]:
        """Give the corners of the bounding boxes of shapes, relative to their origins and along their axes.

        `values` are their parameters by name, arrays (n,) of float64. The result is two arrays, lower and upper, of
        shape (n, d) or (d,).
        """
        raise NotImplementedError

    @staticmethod
    def overlaps(rows: CustomRows, others: Others) -> Any:
        """Say which placed shapes of the type overlap which others; their bounding boxes do.

        Parameters
        ----------
        rows : CustomRows
            Shapes of the type.
        others : Shapes or CustomRows
            As many others, all of one type: `Shapes` of a type of this library, or `CustomRows` of the type itself or
            another.

        Returns
        -------
        ndarray, shape (m,), bool; or NotImplemented
            Whether shape k overlaps the other with that number. It must not depend on the order of the two, nor on the
            pairs that are tested together. NotImplemented where the other type is not known here; then the test of
            that type is asked, if it is of the user's own.

        Notes
        -----
        Queries from several threads call it from these threads. While a world steps, it must not use that world.
        """
        raise NotImplementedError

    @property
    def values(self) -> dict[str, Any]:
        """The parameters by name: numbers, or arrays (n,) of many. Read-only."""
        return {name: self._value(name) for name in self.parameters}

    @classmethod
    def _from_records(cls, records: Floats) -> Self:
        """Make shapes from local records (n, length)."""
        dim = cls.dimensions
        offsets, turns, numbers = cls._parts(records)
        shape = object.__new__(cls)
        kept = {name: numbers[:, place].copy() for place, name in enumerate(cls.parameters)}
        if offsets.any():
            kept["offset"] = offsets.copy()
        if not (turns == np.eye(dim)).all():
            kept["rotation"] = _rotations_of(np.swapaxes(turns, 1, 2))
        own = records.copy()
        own[:, 0] = 0.0  # as in any shape that is not in use
        shape._set(dim, own, kept, len(records) == 1)
        return shape

    @classmethod
    def _placed_rows(cls, records: Floats, positions: Floats, rotations: Floats | None) -> CustomRows:
        """Place local records (m, length) at positions (m, d), with rotations in the form of `Shapes`."""
        turns = None if rotations is None else as_matrices(rotations, cls.dimensions)
        origins, axes, numbers = cls._parts(moved(cls.kind, records, cls.dimensions, positions, turns))
        values = {name: numbers[:, place].copy() for place, name in enumerate(cls.parameters)}
        return CustomRows(cls, values, origins.copy(), axes.copy())

    @classmethod
    def _parts(cls, records: Floats) -> tuple[Floats, Floats, Floats]:
        """Give the origins, axes and parameters in records."""
        dim = cls.dimensions
        layout = layout_of(cls.kind, dim, records.shape[1])
        axes = records[:, layout.directions].reshape(len(records), dim, dim)
        return records[:, layout.points], axes, records[:, layout.directions.stop + 2 * dim :]

    @classmethod
    def _corners(cls, values: dict[str, Floats]) -> Floats:
        """Ask for the bounding boxes of shapes, and put the corners of each side by side."""
        count, dim = max((len(each) for each in values.values()), default=1), cls.dimensions
        name = f"{cls.__name__}.bounds"
        try:
            given: Any = cls.bounds(values)
        except Exception as error:
            error.add_note(f"raised by {name}")
            raise
        if not isinstance(given, tuple | list | np.ndarray) or len(given) != 2:
            raise TypeError(f"{name} must return two arrays, lower and upper")
        corners = []
        for which, side in zip(("lower", "upper"), given, strict=True):
            array = as_array(side, f"{name}: {which}")
            if array.shape not in ((dim,), (count, dim)):
                raise ValueError(f"{name}: {which} must have shape ({count}, {dim}) or ({dim},), not {array.shape}")
            corners.append(as_rows(np.broadcast_to(array, (count, dim)), f"{name}: {which}", (dim,), "(n, d)"))
        lower, upper = (side.rows for side in corners)
        if (lower > upper).any():
            raise ValueError(f"{name}: row {int((lower > upper).any(axis=1).argmax())} has lower above upper")
        return np.concatenate([lower, upper], axis=1)


def _rotations_of(matrices: Floats) -> Floats:
    """Give the angles, or quaternions, of rotations."""
    if matrices.shape[1] == 2:
        return np.arctan2(matrices[:, 1, 0], matrices[:, 0, 0])
    return quaternions_of(matrices)
