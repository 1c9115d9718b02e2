"""The settings of an index as a value: what a world, a scene file, a snapshot or the demo keeps of an index class.

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
    """A class of indexes and its settings, checked. Made by ``options`` of that class.

    Equal settings are equal values, which can be compared, hashed and pickled.

    Attributes
    ----------
    index_class : type
        A subclass of `BoxIndex`.
    settings : tuple of (str, value)
        Name and value of each setting that is not the default of the class. Values are None, numbers, strings, and
        tuples of these.

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
    def of(method: str | dict[str, Any] | IndexOptions) -> IndexOptions:
        """Make options of the name of a method, or of a description.

        Parameters
        ----------
        method : str, dict or IndexOptions
            A name of the registry or "auto"; such a name under the key ``name``, and settings, as `describe` gives
            them; or options, which are returned.

        Raises
        ------
        ValueError, TypeError
            There is no such method, or it has no such setting, or not with this value.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.IndexOptions.of({"name": "octree", "leaf_capacity": 1})
        Octree.options(leaf_capacity=1)
        """
        if isinstance(method, IndexOptions):
            return method
        if not isinstance(method, str | dict):
            raise TypeError(f"a method is a name, a dictionary or options, not {quoted(method)}")
        settings = {} if isinstance(method, str) else dict(method)
        name = method if isinstance(method, str) else settings.pop("name", None)
        if not isinstance(name, str) or name not in INDEX_CLASSES:
            raise ValueError(unknown_name("method", name, INDEX_CLASSES))
        if not settings:
            return IndexOptions(INDEX_CLASSES[name])
        return checked_options(INDEX_CLASSES[name], **{key: _with_infinities(value) for key, value in settings.items()})

    def describe(self) -> dict[str, Any]:
        """Give the name of the method and its settings, as JSON can hold them; `of` undoes it.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.LinearTree.options(depth=3, bounds=[[0, 0], [9, float("inf")]]).describe()
        {'name': 'linear_tree', 'depth': 3, 'bounds': [[0.0, 0.0], [9.0, 'inf']]}
        """
        return {"name": self.method} | {name: _as_lists(value) for name, value in self.settings}

    def with_texts(self, settings: Iterable[str]) -> IndexOptions:
        """Return options with further settings, each written as ``name=value``; values as in JSON, or words.

        Raises
        ------
        ValueError, TypeError
            As `of`; a setting that is written otherwise.

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
        """Check that the settings fit boxes of so many dimensions.

        Raises
        ------
        ValueError
            One does not.
        """
        if self.settings:
            self.index_class._require_fit(self.index_class._checked(**dict(self.settings)), dim)

    def make(self, boxes: Any, **more: Any) -> BoxIndex:
        """Make an index of boxes with these settings.

        Parameters
        ----------
        boxes
            As in `BoxIndex`.
        **more
            Parameters of the class that are not settings, such as ``layer``.
        """
        return self.index_class(boxes, **dict(self.settings), **more)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.settings)
        return f"{self.index_class.__name__}.options({given})"


def checked_options(cls: type[BoxIndex], /, **settings: Any) -> IndexOptions:
    """Check settings of an index class, and give them as a value: for `World`, scene files, snapshots and the demo.

    Parameters
    ----------
    **settings
        Parameters of the class that say how it arranges boxes. They change what it costs, and only `outside` what it
        answers.

    Returns
    -------
    IndexOptions

    Raises
    ------
    TypeError
        The class has no such setting.
    ValueError
        A value out of its range.

    Examples
    --------
    >>> import broadphase as bp
    >>> world = bp.World(dim=2, method=bp.BVH.options(quality="sah"))
    >>> world.method
    BVH.options(quality='sah')
    """
    defaults = cls._checked()
    for name in settings:
        if name not in defaults:
            raise TypeError(f"{cls.__name__}.options: {unknown_name('setting', name, defaults)}")
    given = cls._checked(**settings)
    return IndexOptions(cls, tuple((name, value) for name, value in given.items() if value != defaults[name]))


def _as_lists(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_lists(part) for part in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value  # JSON has no infinities


def _with_infinities(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [float(part) if part in ("inf", "-inf") else _with_infinities(part) for part in value]
