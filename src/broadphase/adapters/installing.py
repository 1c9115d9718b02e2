"""Replace functions and classes of other libraries by drop-ins, in all modules, for callers that cannot be changed."""

from __future__ import annotations

import sys
import threading
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from broadphase.errors import MissingExtraError, unknown_name

if TYPE_CHECKING:
    from types import TracebackType
    from typing import NoReturn, Self

    Place: TypeAlias = tuple[ModuleType, str, Any, Any]  # a module, a name, what was there, and what is put there

__all__ = ["ADAPTERS", "Installation", "install", "uninstall"]

# By adapter, what it stands in for: its name there, the module, and the name in that.
_PLACES = {
    "arcade": {
        "SpatialHash": ("arcade.sprite_list.spatial_hash", "SpatialHash"),
        **{
            name: ("arcade", name)
            for name in (
                "check_for_collision_with_list",
                "check_for_collision_with_lists",
                "get_closest_sprite",
                "get_sprites_at_exact_point",
                "get_sprites_at_point",
                "get_sprites_in_rect",
            )
        },
    },
    "ase": {
        name: ("ase.neighborlist", name)
        for name in ("NeighborList", "PrimitiveNeighborList", "neighbor_list", "primitive_neighbor_list")
    },
    "mesa": {
        "ContinuousSpace": ("mesa.experimental.continuous_space", "ContinuousSpace"),
        "ContinuousSpaceAgent": ("mesa.experimental.continuous_space", "ContinuousSpaceAgent"),
        "LegacyContinuousSpace": ("mesa.space", "ContinuousSpace"),
    },
    "pygame": {
        name: ("pygame.sprite", name) for name in ("Group", "groupcollide", "spritecollide", "spritecollideany")
    },
    "rtree": {"Index": ("rtree.index", "Index")},
    "scipy": {name: ("scipy.spatial", name) for name in ("KDTree", "cKDTree")},
    "shapely": {
        "STRtree": ("shapely", "STRtree"),
        "sjoin": ("geopandas", "sjoin"),
        "sjoin_nearest": ("geopandas", "sjoin_nearest"),
    },
    "trimesh": {name: ("trimesh.collision", name) for name in ("CollisionManager", "scene_to_collision")},
}
ADAPTERS = tuple(_PLACES)
# Between "is it in place?" and putting it there, no other thread may do the same. A thread may take it again: what it
# imports may itself install.
_lock = threading.RLock()
_installed: dict[str, Installation] = {}


class Installation:
    """A drop-in that is in place; as a context manager, until the end of the block. `adapter` is its name.

    Its end undoes this installation only. It does nothing if `uninstall` has already ended it, even after another
    installation.
    """

    def __init__(self, adapter: str) -> None:
        self.adapter = adapter
        self._places: list[Place] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _lock:
            if _installed.get(self.adapter) is self:
                del _installed[self.adapter]
                self._undo()

    def __reduce__(self) -> NoReturn:
        raise TypeError("an Installation cannot be copied or pickled: it is what it has changed in loaded modules")

    def _put(self, originals: dict[int, tuple[Any, Any]]) -> None:
        try:
            for name, module in list(sys.modules.items()):
                if not isinstance(module, ModuleType) or name.partition(".")[0] == "broadphase":
                    continue
                for attribute, value in list(vars(module).items()):
                    if id(value) in originals:
                        drop_in = originals[id(value)][1]
                        self._places.append((module, attribute, value, drop_in))
                        setattr(module, attribute, drop_in)
        except BaseException:  # such as of a module that refuses, or Ctrl-C: all of it is in place, or nothing
            self._undo()
            raise

    def _undo(self) -> None:
        while self._places:
            module, attribute, original, drop_in = self._places[-1]
            if vars(module).get(attribute) is drop_in:  # unless somebody else has put something there since
                setattr(module, attribute, original)
            self._places.pop()

    def __repr__(self) -> str:
        return f"<Installation of broadphase.adapters.{self.adapter}>"


def install(adapter: str) -> Installation:
    """Replace what a drop-in stands in for, wherever a loaded module has that under any name.

    Parameters
    ----------
    adapter : str
        arcade, ase, mesa, pygame, rtree, scipy, shapely or trimesh. With shapely, geopandas too, if it is installed.

    Returns
    -------
    Installation
        A context manager, which undoes this installation at its end, unless `uninstall` has done so.

    Raises
    ------
    ValueError
        No adapter has this name, or it is in place already.
    MissingExtraError
        The library is not installed.

    Notes
    -----
    May be called from several threads: a drop-in is in place wholly or not at all. Where others have replaced a name
    since, it is left to them at the end. Objects that were made before are as they were. Classes that were derived from
    the library's own stay so.

    Examples
    --------
    >>> from broadphase import adapters
    >>> with adapters.install("scipy"):
    ...     from scipy.spatial import cKDTree
    ...     cKDTree.__module__
    'broadphase.adapters.scipy'
    """
    if adapter not in ADAPTERS:
        raise ValueError(unknown_name("adapter", adapter, _PLACES))
    _load(adapter)
    with _lock:
        if adapter in _installed:
            raise ValueError(f"the drop-in for {adapter} is in place already")
        installation = Installation(adapter)
        installation._put(_originals(adapter))
        _installed[adapter] = installation
    return installation


def uninstall(adapter: str) -> None:
    """Undo `install`, if it was called. Modules that were loaded in between may still have the drop-in."""
    if adapter not in ADAPTERS:
        raise ValueError(unknown_name("adapter", adapter, _PLACES))
    with _lock:
        installation = _installed.pop(adapter, None)
        if installation is not None:
            installation._undo()


def _load(adapter: str) -> None:
    """Import a library and its drop-in, before the lock: another thread may install while it imports them."""
    import_module(f"broadphase.adapters.{adapter}")
    for module, _ in _PLACES[adapter].values():
        if module != "geopandas":
            import_module(module)


@cache
def _originals(adapter: str) -> dict[int, tuple[Any, Any]]:
    """Return what an adapter stands in for and what it puts there, by the identity of the first."""
    drop_in = import_module(f"broadphase.adapters.{adapter}")
    both: dict[int, tuple[Any, Any]] = {}
    for name, (module, attribute) in _PLACES[adapter].items():
        try:
            is_of_geopandas = module == "geopandas"
            original = drop_in.own(name) if is_of_geopandas else getattr(import_module(module), attribute)
        except MissingExtraError:
            continue
        both[id(original)] = original, getattr(drop_in, name)
    return both
