"""Collisions of sprites as in arcade: same arguments, same results, for long sprite lists.

A sprite list keeps the positions and sizes of its sprites as arrays, for the graphics card. The functions
`check_for_collision_with_list` and `check_for_collision_with_lists` read these to find the sprites that are near, and
compare only their hit boxes. They need no window.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import isfinite, trunc
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.adapters.library import import_library

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SpatialHash", "check_for_collision", "check_for_collision_with_list", "check_for_collision_with_lists"]

theirs: Any = import_library("arcade", install="arcade")
_SpatialHash: Any = import_library("arcade.sprite_list.spatial_hash", install="arcade").SpatialHash

#: ``arcade.check_for_collision`` itself: for two sprites, there is nothing to leave out.
check_for_collision: Any = theirs.check_for_collision

# With fewer, arrays cost more than a loop. Measured.
_FEW_SPRITES = 250
_FEW_HIT_BOXES = 12
# Hit boxes reach 0.71 times the larger side from the position of a sprite; arcade compares no sprites farther apart.
_REACH = 0.71
# Sprite lists round positions and sizes to float32.
_ROUNDING = 1e-6

# As they are when this is imported: a game may put ours in their place.
_WITH_LIST = theirs.check_for_collision_with_list


def check_for_collision_with_list(sprite: Any, sprite_list: Any, method: int = 0) -> list[Any]:
    """Find the sprites of a list that collide with one sprite, as ``arcade.check_for_collision_with_list`` does.

    Parameters
    ----------
    sprite : arcade.BasicSprite
        It does not find itself.
    sprite_list : arcade.SpriteList
        The sprites to compare with; turned and scaled ones by their hit boxes.
    method : int
        0 and 1: by the spatial hash of the list, if it has one. 3: without it. 2: on the graphics card, as in arcade.

    Returns
    -------
    list of sprites
        In the order of the list, unless it has a spatial hash, which has no order.

    Raises
    ------
    TypeError
        As in arcade.

    Notes
    -----
    Time O(n), but for most sprites only a few nanoseconds.
    """
    if (
        method == 2
        or not isinstance(sprite, theirs.BasicSprite)
        or not isinstance(sprite_list, theirs.SpriteList)
        or (method != 3 and sprite_list.spatial_hash is not None)
    ):
        found: list[Any] = _WITH_LIST(sprite, sprite_list, method)
        return found
    if len(sprite_list) < _FEW_SPRITES:
        return list(_WITH_LIST(sprite, sprite_list, 3))
    near = _near(sprite, sprite_list)
    return _colliding(sprite, [other for other in near if other is not sprite])


def check_for_collision_with_lists(sprite: Any, sprite_lists: Iterable[Any], method: int = 0) -> list[Any]:
    """Find the sprites of several lists that collide with one sprite: those of the first list first.

    Parameters
    ----------
    sprite : arcade.BasicSprite
        It does not find itself.
    sprite_lists : iterable of arcade.SpriteList
        The lists.
    method : int
        As in `check_for_collision_with_list`.

    Returns
    -------
    list of sprites
        A sprite that is in two lists is found twice, as in arcade.
    """
    return [other for one in sprite_lists for other in check_for_collision_with_list(sprite, one, method)]


class SpatialHash(_SpatialHash):  # type: ignore[misc]
    """An ``arcade.sprite_list.spatial_hash.SpatialHash`` in which sprites may move.

    A sprite that moves within its cells costs one look at its hit box; in arcade, it is taken out of all its cells and
    put into them again. The sets of sprites are the same. `of` gives one to a sprite list.

    Parameters
    ----------
    cell_size : int
        Width and height of a cell in pixels.
    """

    def __init__(self, cell_size: int) -> None:
        super().__init__(cell_size)
        self._cells: dict[Any, tuple[int, int, int, int]] = {}

    @classmethod
    def of(cls, sprite_list: Any, cell_size: int = 128) -> SpatialHash:
        """Make the spatial hash of a sprite list, and give it to the list, which keeps it up to date.

        Parameters
        ----------
        sprite_list : arcade.SpriteList
            Its ``spatial_hash`` is replaced.
        cell_size : int
            Width and height of a cell in pixels.

        Returns
        -------
        SpatialHash
        """
        made = cls(cell_size)
        for sprite in sprite_list:
            made.add(sprite)
        sprite_list.spatial_hash = made
        return made

    def reset(self) -> None:
        """Remove all sprites."""
        super().reset()
        self._cells.clear()

    def add(self, sprite: Any) -> None:
        """Add a sprite."""
        cells = self._cells_of(sprite)
        buckets = [self.contents.setdefault(cell, set()) for cell in _between(*cells)]
        for bucket in buckets:
            bucket.add(sprite)
        self.buckets_for_sprite[sprite] = buckets
        self._cells[sprite] = cells

    def move(self, sprite: Any) -> None:
        """Put a sprite that has changed into its cells; sprite lists call this."""
        if self._cells[sprite] != self._cells_of(sprite):
            self.remove(sprite)
            self.add(sprite)

    def remove(self, sprite: Any) -> None:
        """Remove a sprite."""
        super().remove(sprite)
        del self._cells[sprite]

    def get_sprites_near_sprite(self, sprite: Any) -> set[Any]:
        """Give the sprites in the cells of a sprite, which may be in the hash or not."""
        return self._within(*self._cells_of(sprite))

    def get_sprites_near_point(self, point: Any) -> set[Any]:
        """Give the sprites in the cell of a point."""
        size = self.cell_size
        return set(self.contents.get((trunc(point[0]) // size, trunc(point[1]) // size), ()))

    def get_sprites_near_rect(self, rect: Any) -> set[Any]:
        """Give the sprites in the cells of an ``arcade.types.rect.Rect``."""
        left, right, bottom, top = rect.lrbt
        size = self.cell_size
        return self._within(trunc(left) // size, trunc(bottom) // size, trunc(right) // size, trunc(top) // size)

    def _cells_of(self, sprite: Any) -> tuple[int, int, int, int]:
        """Columns and rows from the lower left to the upper right one."""
        points = sprite.hit_box.get_adjusted_points()
        x, y = [one[0] for one in points], [one[1] for one in points]
        size = self.cell_size
        return trunc(min(x)) // size, trunc(min(y)) // size, trunc(max(x)) // size, trunc(max(y)) // size

    def _within(self, left: int, bottom: int, right: int, top: int) -> set[Any]:
        contents = self.contents
        if (right - left + 1) * (top - bottom + 1) <= len(contents):
            return set().union(*(contents[cell] for cell in _between(left, bottom, right, top) if cell in contents))
        inside = (
            bucket for (column, row), bucket in contents.items() if left <= column <= right and bottom <= row <= top
        )
        return set().union(*inside)


def _between(left: int, bottom: int, right: int, top: int) -> list[tuple[int, int]]:
    return [(column, row) for column in range(left, right + 1) for row in range(bottom, top + 1)]


class _Slots:
    """Where the arrays of a sprite list have its sprites, in the order of the list."""

    def __init__(self, sprite_list: Any) -> None:
        self._sprites = list(sprite_list)
        slot_of = sprite_list.sprite_slot
        self.slots = np.fromiter((slot_of[one] for one in self._sprites), np.uint32, len(self._sprites))
        self._order = self.slots.tobytes()

    def fit(self, sprite_list: Any) -> bool:
        """Whether they are still those of a list.

        A sprite that comes again may get another slot. The list is then drawn by another order of slots.
        """
        order = sprite_list._sprite_index_data[: len(self._sprites)].tobytes()
        return self._sprites == sprite_list.sprite_list and bool(self._order == order)


def _near(sprite: Any, sprite_list: Any) -> list[Any]:
    """Find the sprites of a list that may be within reach of one sprite, in the order of the list."""
    known = getattr(sprite_list, "_broadphase_slots", None)  # there, so that it goes when the list goes
    if known is None or not known.fit(sprite_list):
        known = sprite_list._broadphase_slots = _Slots(sprite_list)
    places = np.frombuffer(sprite_list._sprite_pos_angle_data, np.float32).reshape(-1, 4)
    sizes = np.frombuffer(sprite_list._sprite_size_data, np.float32).reshape(-1, 2)
    (x, y), own = sprite.position, max(sprite.width, sprite.height)
    with np.errstate(over="ignore", invalid="ignore"):
        side = np.maximum(sizes[:, 0], sizes[:, 1])
        reach = _REACH * np.abs(side + own) + 2.0 * _ROUNDING * (np.abs(side) + (abs(own) + abs(x) + abs(y) + 1.0))
        reach *= 1.0 + 10.0 * _ROUNDING
        across, up = places[:, 0] - x, places[:, 1] - y
        is_near = ~(across * across + up * up > reach * reach)  # also where it is not a number
    sprites = sprite_list.sprite_list
    return [sprites[row] for row in np.flatnonzero(is_near[known.slots]).tolist()]


def _colliding(sprite: Any, others: list[Any]) -> list[Any]:
    """Find those of some sprites that collide with one sprite."""
    if len(others) < _FEW_HIT_BOXES:
        return [other for other in others if check_for_collision(sprite, other)]
    own = (*sprite.position, sprite.width, sprite.height)
    count, each = len(others), [(*other._position, other._width, other._height) for other in others]
    points = [other.hit_box.get_adjusted_points() for other in others]
    corners = len(points[0])
    numbers = np.fromiter(chain.from_iterable(each), np.float64, 4 * count).reshape(count, 4).T
    if {len(one) for one in points} != {corners} or not (all(map(isfinite, own)) and np.isfinite(numbers).all()):
        return [other for other in others if check_for_collision(sprite, other)]
    first = np.array(sprite.hit_box.get_adjusted_points(), np.float64).reshape(-1, 2).T[..., None]
    flat = chain.from_iterable(chain.from_iterable(points))
    second = np.fromiter(flat, np.float64, 2 * corners * count).reshape(count, corners, 2).transpose(2, 1, 0).copy()
    with np.errstate(over="ignore", invalid="ignore"):
        # Each line rounds as the line of arcade does for one pair: no product and sum may be fused.
        reach = (max(own[2:]) + np.maximum(numbers[2], numbers[3])) * _REACH
        reach *= reach
        x, y = own[0] - numbers[0], own[1] - numbers[1]
        x *= x
        y *= y
        hit = (x <= reach) & (y <= reach) & (x + y <= reach)
        if corners and first.size:
            hit &= _overlap_along_normals(first, second, first) & _overlap_along_normals(first, second, second)
        else:
            hit[:] = False  # arcade: nothing meets a hit box without points
    return [others[row] for row in np.flatnonzero(hit).tolist()]


def _overlap_along_normals(first: NDArray[Any], second: NDArray[Any], edges: NDArray[Any]) -> NDArray[np.bool_]:
    """Compare the shadows of polygons on the normals of the edges of one of them.

    Axes of `first` and `second`: x and y, the points, the pairs.
    """
    following = np.concatenate((edges[:, 1:], edges[:, :1]), axis=1)
    across, up = following[1] - edges[1], edges[0] - following[0]
    own = across * first[0][:, None] + up * first[1][:, None]
    other = across * second[0][:, None] + up * second[1][:, None]
    overlap = (own.max(axis=0) > other.min(axis=0)) & (other.max(axis=0) > own.min(axis=0))
    all_overlap: NDArray[np.bool_] = overlap.all(axis=0)
    return all_overlap
