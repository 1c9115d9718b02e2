"""The settings of an index as a value, for worlds, scene files, snapshots and the demo.

Index classes take `checked_options` as a class method, ``options = classmethod(checked_options)``.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broadphase.arguments import as_array
from broadphase.errors import quoted, unknown_name
from broadphase.index.box_index import BoxIndex

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["INDEX_CLASSES", "IndexOptions", "checked_options"]

INDEX_CLASSES = BoxIndex._classes
"""The index class of each method by name; "auto" is `Index`."""


@dataclass(frozen=True, slots=True, repr=False)
class IndexOptions:
    """An index class and its checked settings, comparable, hashable and picklable. Made by ``options`` of a class.

    Attributes
    ----------
    index_class : type
        A subclass of `BoxIndex`.
    settings : tuple of (str, value)
        Name and value of each setting that is not a default. Values are None, numbers, strings, and tuples of these.

    Examples
    --------
    >>> import broadphase as bp
    >>> tight = bp.Octree.options(leaf_capacity=1, looseness=1)
    >>> tight, tight == bp.Octree.options(looseness=1.0, leaf_capacity=1), tight.method
    (Octree.options(leaf_capacity=1, looseness=1.0), True, 'octree')
    >>> tight.make([[0, 0, 2, 2], [1, 1, 3, 3]]).pairs()
    array([[0, 1]], dtype=int32)
    >>> bp.World(dim=2, method=tight).method
    Octree.options(leaf_capacity=1, looseness=1.0)
    """

    index_class: type[BoxIndex]
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def method(self) -> str:
        """Name of its row in the registry."""
        return self.index_class.method

    @staticmethod
    def of(method: str | dict[str, Any] | type[BoxIndex] | IndexOptions) -> IndexOptions:
        """Return the options that a name of a method, an index class or a description stands for.

        A name is that of a method in the registry, or "auto". An index class stands for its defaults. A description is
        a dictionary with such a ``name`` and settings, as `describe` returns it. Options are returned as they are.
        Raises ValueError or TypeError for unknown methods, settings and values.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.index.IndexOptions.of({"name": "octree", "leaf_capacity": 1})
        Octree.options(leaf_capacity=1)
        >>> bp.index.IndexOptions.of(bp.Octree) == bp.index.IndexOptions.of("octree") == bp.Octree.options()
        True
        """
        if isinstance(method, IndexOptions):
            return method
        if isinstance(method, type) and issubclass(method, BoxIndex) and hasattr(method, "method"):
            return IndexOptions(method)
        if not isinstance(method, str | dict):
            raise TypeError(f"a method is a name, an index class, options or a dictionary, not {quoted(method)}")
        settings = {} if isinstance(method, str) else dict(method)
        name = method if isinstance(method, str) else settings.pop("name", None)
        if not isinstance(name, str) or name not in INDEX_CLASSES:
            raise ValueError(unknown_name("method", name, INDEX_CLASSES))
        if not settings:
            return IndexOptions(INDEX_CLASSES[name])
        return checked_options(INDEX_CLASSES[name], **{key: _with_infinities(value) for key, value in settings.items()})

    def describe(self) -> dict[str, Any]:
        """Return the name of the method and its settings for JSON; `of` reads them.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.LinearTree.options(depth=3, bounds=[[0, 0], [9, float("inf")]]).describe()
        {'name': 'linear_tree', 'depth': 3, 'bounds': [[0.0, 0.0], [9.0, 'inf']]}
        """
        return {"name": self.method} | {name: _as_lists(value) for name, value in self.settings}

    def with_texts(self, settings: Iterable[str]) -> IndexOptions:
        """Return options with more settings, written as ``name=value``; values as in JSON, or words. Errors as of `of`.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.LinearTree.options(depth=3).with_texts(["storage=flat", "bounds=[0, 0, 9, 9]"])
        LinearTree.options(storage='flat', depth=3, bounds=((0.0, 0.0), (9.0, 9.0)))
        """
        description = self.describe()
        for text in as_array(settings, "settings").ravel().tolist():
            if not isinstance(text, str):
                raise TypeError(f"settings must be texts, not {quoted(text)}")
            name, equals, value = text.partition("=")
            if not name or not equals:
                raise ValueError(f"settings are written name=value, not {quoted(text)}")
            try:
                description[name] = json.loads(value)
            except (ValueError, RecursionError):
                description[name] = value
        return IndexOptions.of(description)

    def require_fit(self, dim: int) -> None:
        """Raise ValueError if a setting does not fit boxes of so many dimensions."""
        if self.settings:
            self.index_class._require_fit(self.index_class._all_settings(**dict(self.settings)), dim)

    def make(self, boxes: Any, **more: Any) -> BoxIndex:
        """Make an index of boxes with these settings; `more` are other parameters of the class, such as ``layer``."""
        return self.index_class(boxes, **dict(self.settings), **more)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.settings)
        return f"{self.index_class.__name__}.options({given})"


def checked_options(cls: type[BoxIndex], /, **settings: Any) -> IndexOptions:
    """Check settings of an index class, and return them as a value: for `World`, scene files, snapshots and the demo.

    Settings are the parameters that say how the class arranges boxes. Except `outside`, they change costs, not results.
    Raises TypeError for a setting that the class does not have, and ValueError for a value out of range.

    Examples
    --------
    >>> import broadphase as bp
    >>> world = bp.World(dim=2, method=bp.BVH.options(quality="sah"))
    >>> world.method
    BVH.options(quality='sah')
    """
    defaults = cls._all_settings()
    for name in settings:
        if name not in defaults:
            raise TypeError(f"{cls.__name__}.options: {unknown_name('setting', name, defaults)}")
    given = cls._all_settings(**settings)
    return IndexOptions(cls, tuple((name, value) for name, value in given.items() if value != defaults[name]))


def _as_lists(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_lists(part) for part in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value  # JSON has no infinities


def _with_infinities(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [float(part) if part in ("inf", "-inf") else _with_infinities(part) for part in value]
