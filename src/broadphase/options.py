"""Options that several functions share, each spelled once: its type for type checkers, its default, and its place.

A function takes them as ``**options: Unpack[...]``, and hands them on to what has the defaults. `shows` gives it the
signature that `help` and editors show.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from broadphase.filters import ByRow, Ignored
    from broadphase.methods import MethodName
    from broadphase.periods import Period

__all__ = [
    "ORDER", "PAIR_DEFAULTS", "Bound", "ChangeKeywords", "IndexPairKeywords", "PairFilterKeywords", "PairKeywords",
    "QueryKeywords", "QueryOptions", "require_known", "shows", "shows_pair_options", "shows_query_options",
]  # fmt: skip

Function = TypeVar("Function", bound=Callable[..., Any])

#: What decides in an index whose objects have spheres.
Bound: TypeAlias = Literal["box", "sphere"] | None

#: The parameters that functions share, in the order in which each of them takes these.
ORDER = (
    "boxes", "points", "other", "origins", "directions", "centers", "half_sizes", "radii", "positions", "rotations",
    "k", "pairs", "max_distance", "exclude_self", "by",
    "method", "device", "workers", "sort", "touching", "margin",
    "layer", "mask", "group", "static", "ignore_pairs", "ignore_shared",
    "batch", "ignore", "period", "max_pairs", "capacity", "invalid", "progress",
)  # fmt: skip


class QueryKeywords(TypedDict, total=False):
    """What every query of an index or a world takes; `BoxIndex.query` describes them."""

    by: Bound
    workers: int | None
    layer: ByRow
    mask: ByRow
    batch: ByRow
    ignore: Ignored


@dataclass(slots=True)  # not frozen: making one would take twice as long
class QueryOptions:
    """The options of a query, as the caller gave them: who answers it checks them.

    A row is found if its mask has a bit in common with the layer of the query, and its layer with the mask of the
    query.
    """

    by: Bound = None
    workers: int | None = None  # None: those that the index or the world was made with
    layer: Any = None  # uint64, (q,), or int; in a world also names; None: all bits
    mask: Any = None
    batch: Any = None  # int64, (q,), or int; None: rows of all keys
    ignore: Any = None  # rows or handles that each query leaves out, (q,), (q, k), (1, k) or int; -1 is none
    own: NDArray[np.int32] | None = None  # (q,), a row in use that each query leaves out besides: the one that asks
    # Where queries are, where they look, and how far to either side they see; None: all round.
    _sight: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None = None

    @property
    def sight(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None:
        """What `set_sight` of the core's filter takes first."""
        return self._sight

    @classmethod
    def of(cls, query: str, keywords: Mapping[str, Any], own: NDArray[np.int32] | None = None) -> QueryOptions:
        """Return the options that a query was given by keyword; TypeError, as of Python, for any other keyword."""
        try:
            return cls(own=own, **keywords)
        except TypeError:
            require_known(query, keywords, QueryKeywords)
            raise


class PairFilterKeywords(TypedDict, total=False):
    """Which pairs of boxes count, in every search for pairs; `broadphase.pairs` describes them."""

    layer: ByRow
    mask: ByRow
    group: ByRow
    static: ByRow
    ignore_pairs: ArrayLike | None
    ignore_shared: ByRow


class ChangeKeywords(PairFilterKeywords, total=False):
    """What `BoxIndex.changes` takes."""

    by: Bound
    workers: int | None
    touching: bool


class IndexPairKeywords(ChangeKeywords, total=False):
    """What searches of an index for pairs take; `BoxIndex.pairs` describes them."""

    margin: float
    batch: ByRow


class PairKeywords(PairFilterKeywords, total=False):
    """What searches for pairs of boxes take; `broadphase.pairs` describes them."""

    method: MethodName
    workers: int
    touching: bool
    margin: float
    batch: ByRow
    period: Period
    invalid: Literal["raise", "skip"]


#: Of the keywords that are not None by default.
PAIR_DEFAULTS = {"method": "auto", "workers": 1, "touching": True, "margin": 0.0, "invalid": "raise"}


def shows(keywords: type, defaults: Mapping[str, Any]) -> Callable[[Function], Function]:
    """Decorate a function that takes ``**options``: its signature shows these keywords; None is the usual default.

    >>> @shows(QueryKeywords, {"workers": 1})
    ... def find(boxes, **options): ...
    >>> list(inspect.signature(find).parameters)
    ['boxes', 'by', 'workers', 'layer', 'mask', 'batch', 'ignore']
    """
    more = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(name),
            annotation=getattr(annotation, "__forward_arg__", annotation),
        )
        for name, annotation in keywords.__annotations__.items()
    ]

    def place(one: inspect.Parameter) -> int:
        return ORDER.index(one.name) if one.kind is one.KEYWORD_ONLY and one.name in ORDER else -1

    def show(function: Function) -> Function:
        """Let the signature of a function show its options."""
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        function.__signature__ = signature.replace(parameters=sorted(own + more, key=place))  # type: ignore[attr-defined]
        return function

    return show


#: Decorators of functions that take the options of a query, and of a search for pairs of boxes.
shows_query_options = shows(QueryKeywords, {})
shows_pair_options = shows(PairKeywords, PAIR_DEFAULTS)


def require_known(function: str, given: Mapping[str, Any], keywords: type) -> None:
    """Raise TypeError, as Python does, for a keyword that a function does not take."""
    for name in given:
        if name not in keywords.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
