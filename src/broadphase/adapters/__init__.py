"""Drop-in replacements for functions of other libraries: same names, same arguments, same results, faster.

Each module has the name of the library that it stands in for, and imports that library when it is imported itself. It
uses nothing of broadphase but the public API.

arcade
    ``check_for_collision_with_list``, ``check_for_collision_with_lists`` and a ``SpatialHash``.
ase
    ``neighbor_list``, ``NeighborList`` and their primitive forms.
mesa
    ``ContinuousSpace``, ``ContinuousSpaceAgent`` and ``LegacyContinuousSpace``.
pygame
    ``groupcollide``, ``spritecollide``, ``spritecollideany`` and a ``Group``, for pygame-ce.
rtree
    ``Index``: insert, delete, intersection, nearest, count, contains, bulk loading and bulk queries.
scipy
    ``cKDTree`` and ``KDTree``, for points in the plane and in space.
shapely
    ``STRtree``, and ``sjoin`` and ``sjoin_nearest`` for GeoDataFrames.
trimesh
    ``CollisionManager`` and ``scene_to_collision``, without python-fcl.

`install` replaces what one stands in for in all loaded modules, for callers that cannot be changed, and `uninstall`
undoes that. ``docs/adapters/`` of the repository has a page for each.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from broadphase.adapters.installing import ADAPTERS, install, uninstall
from broadphase.errors import unknown_name

__all__ = ["install", "uninstall"]  # a star that named the adapters would import every library


def __getattr__(name: str) -> Any:
    if name in ADAPTERS:
        return import_module(f"broadphase.adapters.{name}")
    raise AttributeError(unknown_name("adapter", name, ADAPTERS), name=name)


def __dir__() -> list[str]:
    return [*ADAPTERS, *__all__]
