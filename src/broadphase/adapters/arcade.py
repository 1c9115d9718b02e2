"""Collisions of sprites as in arcade: same arguments, results and errors, for long sprite lists.

A sprite list keeps the positions and sizes of its sprites as arrays, for the graphics card. The functions
`check_for_collision_with_list` and `check_for_collision_with_lists` read these to find the sprites that are near, and
compare only their hit boxes; `get_closest_sprite` and `get_sprites_at_exact_point` read positions there.
`get_sprites_at_point` and `get_sprites_in_rect` compare all hit boxes, as arrays. They need no window. Results are in
the order of the list, unless it has a spatial hash, which has no order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from functools import partial
from importlib import import_module
from itertools import chain
from math import hypot, isfinite, trunc
from struct import pack
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.extras import import_extra

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "SpatialHash", "check_for_collision", "check_for_collision_with_list", "check_for_collision_with_lists",
    "get_closest_sprite", "get_sprites_at_exact_point", "get_sprites_at_point", "get_sprites_in_rect",
]  # fmt: skip

theirs: Any = import_extra("arcade", purpose=__name__, install="arcade")
_SpatialHash: Any = import_module("arcade.sprite_list.spatial_hash").SpatialHash

#: ``arcade.check_for_collision`` itself: for two sprites, there is nothing to leave out.
check_for_collision: Any = theirs.check_for_collision

# Fewer hit boxes are compared one by one, and the positions of eight times as many sprites: arrays take longer.
_FEW = 32
# Hit boxes reach 0.71 times the larger side from the position of a sprite; arcade compares no sprites farther apart.
_REACH = 0.71
# Sprite lists round positions and sizes to float32.
_ROUNDING = 1e-6

# Coordinates up to here: products of two of them are exact where they are whole numbers.
_MOST = 2.0**25
_PLAIN_NUMBERS = frozenset((float, int, np.float64))  # others compute otherwise: np.float32 rounds to 24 bits

# As they are when this is imported: a game may put ours in their place.
_WITH_LIST, _WITH_LISTS = theirs.check_for_collision_with_list, theirs.check_for_collision_with_lists
_CLOSEST = theirs.get_closest_sprite
_AT_POINT = theirs.get_sprites_at_point
_AT_EXACT_POINT = theirs.get_sprites_at_exact_point
_IN_RECT = theirs.get_sprites_in_rect
_is_point_in_polygon: Any = import_module("arcade.geometry").is_point_in_polygon
_are_polygons_intersecting: Any = import_module("arcade.geometry").are_polygons_intersecting


def check_for_collision_with_list(sprite: Any, sprite_list: Any, method: int = 0) -> list[Any]:
    """Find the sprites of a list that collide with one sprite, as ``arcade.check_for_collision_with_list`` does.

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
        return list(_WITH_LIST(sprite, sprite_list, method))
    if len(sprite_list) < 8 * _FEW:
        return list(_WITH_LIST(sprite, sprite_list, 3))
    near = _near(sprite, sprite_list)
    return _colliding(sprite, [other for other in near if other is not sprite])


def check_for_collision_with_lists(sprite: Any, sprite_lists: Iterable[Any], method: int = 0) -> list[Any]:
    """Find the sprites of several lists that collide with one sprite: those of the first list first."""
    if type(sprite_lists) is list and all(
        type(one) is theirs.SpriteList and (len(one) < 8 * _FEW or (method != 3 and one.spatial_hash is not None))
        for one in sprite_lists
    ):
        return list(_WITH_LISTS(sprite, sprite_lists, 0 if method == 1 else method))  # its 1 needs a window
    return [other for one in sprite_lists for other in check_for_collision_with_list(sprite, one, method)]


def get_closest_sprite(sprite: Any, sprite_list: Any) -> tuple[Any, float] | None:
    """Find the sprite of a list whose position is the nearest to that of a sprite, as ``arcade.get_closest_sprite``.

    Notes
    -----
    The first of several that are equally near. Time O(n), but for most sprites only a few nanoseconds.
    """
    if not isinstance(sprite_list, theirs.SpriteList):
        return _CLOSEST(sprite, sprite_list)  # type: ignore[no-any-return]
    others = sprite_list.sprite_list
    if not others:
        return None
    x, y = sprite.position
    if len(others) >= 8 * _FEW and type(x) in _PLAIN_NUMBERS and type(y) in _PLAIN_NUMBERS:
        others = _closest(x, y, sprite_list)
    distances = [hypot(x - a, y - b) for a, b in [other.position for other in others]]
    distance = min(distances)
    return others[distances.index(distance)], distance  # NaN only if the first one is, and then that, as in arcade


def get_sprites_at_point(point: Any, sprite_list: Any) -> list[Any]:
    """Find the sprites of a list whose hit boxes contain a point, as ``arcade.get_sprites_at_point`` does.

    Notes
    -----
    Time O(n); hit boxes are computed again only for sprites that have changed.
    """
    if not isinstance(sprite_list, theirs.SpriteList):
        return list(_AT_POINT(point, sprite_list))
    hashed = sprite_list.spatial_hash
    others = sprite_list.sprite_list if hashed is None else hashed.get_sprites_near_point(point)
    if not others:
        return []
    x, y = point[0], point[1]
    test = partial(_is_point_in_polygon, x, y)
    if len(others) < _FEW or not _are_plain((x, y)):
        return [other for other in others if test(other.hit_box.get_adjusted_points())]
    # An outline above or below the point has no corner at its height, and no edge that a ray to the right crosses.
    return _chosen(others, (-np.inf, y), (np.inf, y), test, partial(_contain, x, y))


def get_sprites_at_exact_point(point: Any, sprite_list: Any) -> list[Any]:
    """Find the sprites of a list whose position is a point, as ``arcade.get_sprites_at_exact_point`` does."""
    if not isinstance(sprite_list, theirs.SpriteList):
        return list(_AT_EXACT_POINT(point, sprite_list))
    if sprite_list.spatial_hash is not None:
        return [other for other in sprite_list.spatial_hash.get_sprites_near_point(point) if other.position == point]
    others = sprite_list.sprite_list
    if len(others) >= 8 * _FEW and isinstance(point, tuple) and len(point) == 2 and _are_plain(point):
        others = _at_position(float(point[0]), float(point[1]), sprite_list)
    return [other for other in others if other.position == point]


def get_sprites_in_rect(rect: Any, sprite_list: Any) -> list[Any]:
    """Find the sprites of a list whose hit boxes overlap a rectangle, as ``arcade.get_sprites_in_rect`` does.

    Hit boxes that only share an edge with it do not overlap it. Time as for `get_sprites_at_point`.
    """
    if not isinstance(sprite_list, theirs.SpriteList):
        return list(_IN_RECT(rect, sprite_list))
    own = rect.to_points()
    hashed = sprite_list.spatial_hash
    others = sprite_list.sprite_list if hashed is None else hashed.get_sprites_near_rect(rect)
    if len(others) < _FEW or not _are_plain([number for corner in own for number in corner]):
        return [other for other in others if _are_polygons_intersecting(own, other.hit_box.get_adjusted_points())]
    # What is beside the rectangle is so along its normals, rounded or not.
    (left, bottom), (right, top) = map(min, zip(*own, strict=True)), map(max, zip(*own, strict=True))
    test = partial(_are_polygons_intersecting, own)
    return _chosen(others, (left, bottom), (right, top), test, partial(_meet, own))


class SpatialHash(_SpatialHash):  # type: ignore[misc]  # a base of type Any
    """An ``arcade.sprite_list.spatial_hash.SpatialHash`` in which sprites may move.

    A sprite that moves within its cells costs one look at its hit box; in arcade, it is taken out of all its cells and
    put into them again. The sets of sprites are the same. `of` gives one to a sprite list.
    """

    def __init__(self, cell_size: int) -> None:
        super().__init__(cell_size)
        self._cells: dict[Any, tuple[int, int, int, int]] = {}

    @classmethod
    def of(cls, sprite_list: Any, cell_size: int = 128) -> SpatialHash:
        """Make the spatial hash of a sprite list, and give it to the list, which keeps it up to date."""
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
        self._put(sprite, self._cells_of(sprite))

    def move(self, sprite: Any) -> None:
        """Move a sprite that has changed to its cells; sprite lists call this."""
        cells = self._cells_of(sprite)
        if self._cells[sprite] != cells:
            for bucket in self.buckets_for_sprite[sprite]:
                bucket.remove(sprite)
            self._put(sprite, cells)

    def remove(self, sprite: Any) -> None:
        """Remove a sprite."""
        super().remove(sprite)
        del self._cells[sprite]

    def get_sprites_near_sprite(self, sprite: Any) -> set[Any]:
        """Return the sprites in the cells of a sprite, which may be in the hash or not."""
        return self._within(*self._cells_of(sprite))

    def get_sprites_near_point(self, point: Any) -> set[Any]:
        """Return the sprites in the cell of a point."""
        size = self.cell_size
        return set(self.contents.get((trunc(point[0]) // size, trunc(point[1]) // size), ()))

    def get_sprites_near_rect(self, rect: Any) -> set[Any]:
        """Return the sprites in the cells of an ``arcade.types.rect.Rect``."""
        left, right, bottom, top = rect.lrbt
        size = self.cell_size
        return self._within(trunc(left) // size, trunc(bottom) // size, trunc(right) // size, trunc(top) // size)

    def _cells_of(self, sprite: Any) -> tuple[int, int, int, int]:
        """Columns and rows from the lower left to the upper right one."""
        x, y = zip(*sprite.hit_box.get_adjusted_points(), strict=True)
        size = self.cell_size
        return trunc(min(x)) // size, trunc(min(y)) // size, trunc(max(x)) // size, trunc(max(y)) // size

    def _put(self, sprite: Any, cells: tuple[int, int, int, int]) -> None:
        """Put a sprite that is in no cell into cells."""
        left, bottom, right, top = cells
        contents, buckets = self.contents, []
        rows = range(bottom, top + 1)
        for column in range(left, right + 1):
            for row in rows:
                bucket = contents.get((column, row))
                if bucket is None:
                    bucket = contents[column, row] = set()
                bucket.add(sprite)
                buckets.append(bucket)
        self.buckets_for_sprite[sprite] = buckets
        self._cells[sprite] = cells

    def _within(self, left: int, bottom: int, right: int, top: int) -> set[Any]:
        contents = self.contents
        if (right - left + 1) * (top - bottom + 1) <= len(contents):
            cells = ((column, row) for column in range(left, right + 1) for row in range(bottom, top + 1))
            return set().union(*(contents[cell] for cell in cells if cell in contents))
        inside = (
            bucket for (column, row), bucket in contents.items() if left <= column <= right and bottom <= row <= top
        )
        return set().union(*inside)


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


def _slots_of(sprite_list: Any) -> NDArray[np.uint32]:
    """Look up where the arrays of a list have its sprites."""
    known = getattr(sprite_list, "_broadphase_slots", None)  # there, so that it goes when the list goes
    if known is None or not known.fit(sprite_list):
        known = sprite_list._broadphase_slots = _Slots(sprite_list)
    return known.slots


def _positions(sprite_list: Any) -> NDArray[np.float32]:
    """Return the positions of the sprites of a list, rounded to float32, in its order."""
    places = np.frombuffer(sprite_list._sprite_pos_angle_data, np.float32).reshape(-1, 4)
    return places[_slots_of(sprite_list), :2]


def _near(sprite: Any, sprite_list: Any) -> list[Any]:
    """Find the sprites of a list that may be within reach of one sprite, in the order of the list."""
    slots = _slots_of(sprite_list)
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
    return [sprites[row] for row in np.flatnonzero(is_near[slots]).tolist()]


def _closest(x: float, y: float, sprite_list: Any) -> list[Any]:
    """Find the sprites of a list that may be the nearest to a point, in its order; all of them if it is not sure."""
    sprites: list[Any] = sprite_list.sprite_list
    places = _positions(sprite_list)
    with np.errstate(over="ignore", invalid="ignore"):
        apart = places - np.array((x, y), np.float64)
        apart *= apart
        distances = np.sqrt(apart[:, 0] + apart[:, 1])
        reach = distances.min() + 4.0 * _ROUNDING * (np.abs(places).max() + np.float64(abs(x) + abs(y) + 1.0))
    # A reach that is not a number takes none, an infinite one all.
    rows = np.flatnonzero(distances <= reach).tolist()
    return [sprites[row] for row in rows] if rows else sprites


def _at_position(x: float, y: float, sprite_list: Any) -> list[Any]:
    """Find the sprites of a list that may be at a point, in its order."""
    places = _positions(sprite_list)
    with np.errstate(over="ignore"):
        point = np.float32(x), np.float32(y)
    is_there = (places[:, 0] == point[0]) & (places[:, 1] == point[1])
    sprites = sprite_list.sprite_list
    return [sprites[row] for row in np.flatnonzero(is_there).tolist()]


def _are_plain(numbers: Collection[Any]) -> bool:
    """Whether arcade computes with numbers as arrays of float64 do."""
    return _PLAIN_NUMBERS.issuperset(map(type, numbers)) and all(-_MOST < number < _MOST for number in numbers)


def _chosen(
    others: Collection[Any],
    lower: tuple[float, float],
    upper: tuple[float, float],
    test: Callable[[Any], bool],
    test_all: Callable[[NDArray[Any]], NDArray[np.bool_]],
) -> list[Any]:
    """Return the sprites whose outlines pass a test, in their order.

    `lower` and `upper` are corners of a box that every such outline reaches. `test` decides for one outline, as arcade
    does; `test_all` for outlines with equally many corners, by axes: x and y, the corners, the outlines.
    """
    outlines = [other.hit_box.get_adjusted_points() for other in others]
    lengths = list(map(len, outlines))
    chosen: list[int] = []
    for corners in set(lengths):
        rows = np.flatnonzero(np.array(lengths) == corners) if lengths.count(corners) < len(lengths) else None
        some = outlines if rows is None else [outlines[row] for row in rows.tolist()]
        flat = list(chain.from_iterable(chain.from_iterable(some)))
        if corners < 3 or len(some) < _FEW or not _PLAIN_NUMBERS.issuperset(map(type, flat)):
            left = np.arange(len(some))
        else:
            array = np.frombuffer(pack(f"{len(flat)}d", *flat)).reshape(-1, corners, 2).transpose(2, 1, 0)
            least, most = array.min(axis=1), array.max(axis=1)
            is_sound = ((least > -_MOST) & (most < _MOST)).all(axis=0)  # NaN is not
            is_near = (least[0] <= upper[0]) & (most[0] >= lower[0]) & (least[1] <= upper[1]) & (most[1] >= lower[1])
            left = np.flatnonzero(is_near | ~is_sound)
            if len(left) >= _FEW:
                near = np.flatnonzero(is_near & is_sound)
                found = near[test_all(array[..., near])]
                chosen += (found if rows is None else rows[found]).tolist()
                left = np.flatnonzero(~is_sound)
        hits = [place for place in left.tolist() if test(some[place])]
        chosen += hits if rows is None else rows[hits].tolist()
    sprites = list(others)
    return [sprites[row] for row in sorted(chosen)]


def _meet(own: Any, corners: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether outlines overlap one, by the rounding and the rules of ``arcade.geometry.are_polygons_intersecting``."""
    first = np.array(own, np.float64).T[..., None]
    return _overlap_along_normals(first, corners, first) & _overlap_along_normals(first, corners, corners)


def _contain(x: float, y: float, corners: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether outlines contain a point, by the rounding and the rules of ``arcade.geometry.is_point_in_polygon``."""
    (ax, ay), (bx, by) = corners, np.roll(corners, -1, axis=1)
    first = _turns(ax, ay, bx, by, x, y)
    at_end = _turns(ax, ay, bx, by, float(sys.maxsize), y)  # of the ray
    is_a_above, is_b_above = np.sign(ay - y), np.sign(by - y)
    in_box = (x <= np.maximum(ax, bx)) & (x >= np.minimum(ax, bx))
    in_box &= (y <= np.maximum(ay, by)) & (y >= np.minimum(ay, by))
    crosses = (first != at_end) & (is_a_above != is_b_above)
    crosses |= (first == 0) & in_box
    crosses |= (is_a_above == 0) & (ax >= x)
    crosses |= (is_b_above == 0) & (bx >= x)
    # The first edge that the ray crosses and on whose line the point is decides.
    is_on = crosses & (_turns(ax, ay, x, y, bx, by) == 0)
    decided, edge = is_on.any(axis=0), is_on.argmax(axis=0)
    odd = (crosses.sum(axis=0) - (is_a_above == 0).sum(axis=0)) % 2 == 1
    return np.asarray(np.where(decided, in_box[edge, np.arange(corners.shape[2])], odd))


def _turns(px: Any, py: Any, qx: Any, qy: Any, rx: Any, ry: Any) -> Any:
    """Return the sign of the turn at q on the way from p to r, as ``get_triangle_orientation`` computes it."""
    return np.sign((qy - py) * (rx - qx) - (qx - px) * (ry - qy))


def _colliding(sprite: Any, others: list[Any]) -> list[Any]:
    """Find those of some sprites that collide with one sprite."""
    if len(others) < _FEW:
        return [other for other in others if check_for_collision(sprite, other)]
    own = (*sprite.position, sprite.width, sprite.height)
    count, each = len(others), [(*other.position, other.width, other.height) for other in others]
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
