"""Replace functions and classes of other libraries by drop-ins, in all modules, for callers that cannot be changed."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from broadphase.errors import MissingExtraError, unknown_name

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    Place: TypeAlias = tuple[ModuleType, str, Any]  # a module, a name, and what was there

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
_installed: dict[str, list[Place]] = {}


class Installation:
    """A drop-in that is in place; as a context manager, until the end of the block. `adapter` is its name."""

    def __init__(self, adapter: str) -> None:
        self.adapter = adapter

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        uninstall(self.adapter)

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
        A context manager, which calls `uninstall` at its end.

    Raises
    ------
    ValueError
        No adapter has this name, or it is in place already.
    MissingExtraError
        The library is not installed.

    Notes
    -----
    Objects that were made before are as they were. Classes that were derived from the library's own stay so.

    Examples
    --------
    >>> from broadphase import adapters
    >>> with adapters.install("scipy"):
    ...     from scipy.spatial import cKDTree
    ...     cKDTree.__module__
    'broadphase.adapters.scipy'
    """
    if adapter not in _PLACES:
        raise ValueError(unknown_name("adapter", adapter, _PLACES))
    if adapter in _installed:
        raise ValueError(f"the drop-in for {adapter} is in place already")
    originals = _originals(adapter)
    replaced: list[Place] = []
    for name, module in list(sys.modules.items()):
        if not isinstance(module, ModuleType) or name.partition(".")[0] == "broadphase":
            continue
        for attribute, value in list(vars(module).items()):
            if id(value) in originals:
                replaced.append((module, attribute, value))
                setattr(module, attribute, originals[id(value)][1])
    _installed[adapter] = replaced
    return Installation(adapter)


def uninstall(adapter: str) -> None:
    """Undo `install`, if it was called. Modules that were loaded in between may still have the drop-in."""
    for module, attribute, original in _installed.pop(adapter, ()):
        setattr(module, attribute, original)


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
