"""Collisions of sprites as in ``pygame.sprite``: same arguments, same results, for thousands of sprites.

`groupcollide`, `spritecollide` and `spritecollideany` stand in for the functions of these names. Rects are compared as
arrays, or by ``Rect.collidelistall`` where there are few. What neither can take, such as rects of a class of your own,
is left to pygame itself.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

import broadphase as bp
from broadphase.errors import MissingExtraError, quoted
from broadphase.extras import import_extra

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Group", "groupcollide", "spritecollide", "spritecollideany"]

theirs: Any = import_extra("pygame.sprite", purpose=__name__, install="pygame-ce")
if not hasattr(theirs.pygame, "FRect"):
    raise MissingExtraError("broadphase.adapters.pygame needs pygame-ce, not pygame: pip install pygame-ce")
Rect, FRect = theirs.pygame.Rect, theirs.pygame.FRect

#: What ``collided=`` takes: a function of two sprites.
Collided: TypeAlias = Callable[[Any, Any], Any]
#: Lower and upper corners, (n, 2) each.
Corners: TypeAlias = "tuple[NDArray[Any], NDArray[Any]]"

_FEW = 128  # rects that are read, or compared, one by one: lists of them do not pay
_FEW_CALLS = 512  # of a function of two sprites, or comparisons with one: finding out which are needed takes longer
_FEW_COMPARISONS = 20_000  # made by Rect.collidelistall: arrays of rects take longer
_CODES: dict[type, str] = {Rect: "i", FRect: "f"}  # of struct, which reads numbers in less time than NumPy
_MOST = {Rect: 2.0**30, FRect: 1e37}  # beyond these, rects may overflow when they are inflated
# Rects are rounded to whole pixels when they are inflated, compared with rects of the other type, or have a centre.
_ROUNDING = 4.0

# As they are when this is imported: a game may put ours in their place.
_COLLIDE_RECT = theirs.collide_rect
_GROUPCOLLIDE = theirs.groupcollide
_SPRITECOLLIDE = theirs.spritecollide
_SPRITECOLLIDEANY = theirs.spritecollideany

_ITER = theirs.AbstractGroup.__iter__
_RECT_PROPERTY = theirs.Sprite.rect if isinstance(vars(theirs.Sprite).get("rect"), property) else None
_HAS_RECT_PROPERTY = _RECT_PROPERTY is not None and _RECT_PROPERTY.fget.__code__.co_names == ("_Sprite__rect",)


def groupcollide(
    groupa: Iterable[Any],
    groupb: Iterable[Any],
    dokilla: bool,
    dokillb: bool,
    collided: Collided | None = None,
    *,
    reach: float | None = None,
) -> dict[Any, list[Any]]:
    """Find the collisions between the sprites of two groups, as ``pygame.sprite.groupcollide`` does.

    Parameters
    ----------
    groupa, groupb, dokilla, dokillb
        As in pygame.
    collided : callable, optional
        ``collide_rect``, ``collide_rect_ratio(r)``, ``collide_circle``, ``collide_circle_ratio(r)`` and
        ``collide_mask`` of ``pygame.sprite`` are recognised, and called only for sprites that are near each other. A
        function of your own is called for all sprites, as in pygame, unless `reach` is given.
    reach : float, optional
        For a `collided` of your own: how far apart along an axis, in pixels, the rects of two sprites can be for which
        it is true. It is then called for these only, on the rects as they are when the call begins.

    Raises
    ------
    ValueError
        `reach` is negative or not finite.

    Notes
    -----
    Time O(n + m + sprites that are near each other). Each call reads the numbers of all rects, since they can change
    unnoticed; in `Group.still` they are read once.
    """
    if reach is None and type(groupa) in _SIZED and type(groupb) in _SIZED:
        count: int = len(groupa)  # type: ignore[arg-type]
        few = _FEW if collided is None and count > 1 else _FEW_CALLS
        if count * len(groupb) < few:  # type: ignore[arg-type]
            result: dict[Any, list[Any]] = _GROUPCOLLIDE(groupa, groupb, dokilla, dokillb, collided)
            return result
    rule = _rule(collided, reach)
    if rule is None or not isinstance(groupb, _GROUPS):
        every = ((one, _SPRITECOLLIDE(one, groupb, dokillb, collided)) for one in groupa)
        collisions = {one: hits for one, hits in every if hits}
    else:
        collisions = _collisions(groupa, groupb, dokillb, rule, collided)
    if dokilla:
        for sprite in collisions:
            sprite.kill()
    return collisions


def spritecollide(
    sprite: Any, group: Any, dokill: bool, collided: Collided | None = None, *, reach: float | None = None
) -> list[Any]:
    """Find the sprites of a group that collide with one sprite, as ``pygame.sprite.spritecollide`` does.

    Parameters
    ----------
    sprite, group, dokill
        As in pygame.
    collided, reach
        As in `groupcollide`.

    Notes
    -----
    Time O(n), most of which goes into reading the ``rect`` of each sprite; in `Group.still` they are read once.
    """
    kept = group._kept if isinstance(group, Group) else None
    if collided is None or collided is _COLLIDE_RECT:
        rect = sprite.rect
        if kept is not None:
            hits = kept.touched_by(rect)
        else:
            sprites = _listed(group)
            if len(sprites) <= _FEW or type(rect) not in _CODES:
                collides = rect.colliderect
                hits = [one for one in sprites if collides(one.rect)]
            else:
                hits = [sprites[row] for row in rect.collidelistall(_rects_of(sprites))]
    else:
        _check(reach)
        sprites = list(group) if kept is None else kept.living()
        if len(sprites) < _FEW_CALLS:
            hits = [one for one in sprites if collided(sprite, one)]
        else:
            hits = list(_met(sprite, kept or _Members(sprites), collided, reach))
    if dokill:
        for one in hits:
            one.kill()
    return hits


def spritecollideany(
    sprite: Any, group: Iterable[Any], collided: Collided | None = None, *, reach: float | None = None
) -> Any:
    """Find the first sprite of a group that collides with one sprite, as ``pygame.sprite.spritecollideany`` does."""
    if (kept := _kept_by(group)) is not None and (collided is None or collided is _COLLIDE_RECT):
        return next(iter(kept.touched_by(sprite.rect)), None)
    if collided is None or collided is theirs.collide_circle or type(collided) is theirs.collide_circle_ratio:
        return _SPRITECOLLIDEANY(sprite, group, collided)  # it stops early, and sets no radius behind the first hit
    _check(reach)
    sprites = list(group) if kept is None else kept.living()
    for one in sprites[:_FEW_CALLS]:
        if collided(sprite, one):
            return one
    return next(_met(sprite, _Members(sprites[_FEW_CALLS:]), collided, reach), None)


class Group(theirs.Group):  # type: ignore[misc]
    """A ``pygame.sprite.Group`` that returns its rects as an array, and can keep them while they do not change.

    ``Rect.collidelist`` and its like take a list, not a group. The methods of these names take the rect, and return
    what the rect returns for the list of the sprites, or of their rects; errors are the same. See
    ``docs/adapters/pygame.md``.
    """

    _kept: _Members | None = None

    @property
    def boxes(self) -> NDArray[Any]:
        """The rects as boxes for `broadphase.pairs` and indexes: a new array, shape (n, 2, 2), in the order of sprites.

        float64 for Rects, float32 for FRects. Of a negative width or height, the corners are exchanged.

        Raises
        ------
        TypeError
            A sprite's ``rect`` is neither, or some are Rects and others FRects.
        ValueError
            A corner of a Rect is outside int32, or one of an FRect is NaN or infinite.
        """
        members = _Members.of(self)
        if members.numbers() is None:
            raise TypeError("the rects of a group must all be pygame.Rect, or all pygame.FRect")
        corners = _corners(members.numbers())
        if corners is None:
            raise ValueError("a rect of the group has a corner that is NaN, infinite or outside int32")
        boxes = np.stack(corners, axis=1)
        return np.delete(boxes, list(members.gone), axis=0) if members.gone else boxes

    def collidelist(self, rect: Any) -> int:
        """Return the place of the first sprite whose rect overlaps one, or -1."""
        first_of: Callable[[list[Any]], int] = rect.collidelist
        if self._kept is not None:
            return first_of(self._kept.living_rects())
        sprites, start, count = _listed(self), 0, _FEW
        if len(sprites) <= count:  # the first portion without a copy of it, a third of the time
            return first_of([one.rect for one in sprites])
        while start < len(sprites):  # in portions that grow, so that few rects are read after the first hit
            place = first_of(_rects_of(sprites[start : start + count]))
            if place >= 0:
                return start + place
            start, count = start + count, 2 * count
        return -1

    def collidelistall(self, rect: Any) -> list[int]:
        """Return the places of the sprites whose rects overlap one, ascending."""
        rects = _rects_of(_listed(self)) if self._kept is None else self._kept.living_rects()
        places: list[int] = rect.collidelistall(rects)
        return places

    def collideobjects(self, rect: Any, key: Callable[[Any], Any] | None = None) -> Any:
        """Find the first sprite whose rect overlaps one, or what `key` returns for it; None if there is none."""
        kept = self._kept
        if kept is None:
            return rect.collideobjects(_listed(self), key=key)
        if key is None:
            with suppress(TypeError):  # a ``rect`` that is a method, which pygame calls, or an error of pygame's
                place = rect.collidelist(kept.living_rects())
                return None if place < 0 else kept.living()[place]
        return rect.collideobjects(kept.living(), key=key)

    def collideobjectsall(self, rect: Any, key: Callable[[Any], Any] | None = None) -> list[Any]:
        """Find the sprites whose rects overlap one, or what `key` returns for them."""
        kept = self._kept
        sprites = _listed(self) if kept is None else kept.living()
        found: list[Any]
        if key is None:
            with suppress(TypeError):  # as in `collideobjects`
                rects = _rects_of(sprites) if kept is None else kept.living_rects()
                found = [sprites[place] for place in rect.collidelistall(rects)]
                return found
        found = rect.collideobjectsall(sprites, key=key)
        return found

    @contextmanager
    def still(self) -> Iterator[Group]:
        """Keep the rects during a ``with`` block, which may add, remove and kill sprites, but not move them."""
        if self._kept is not None:
            yield self
            return
        kept = self._kept = _Members(self.sprites())
        this: Any = self
        add, remove = this.add_internal, this.remove_internal

        # Of this group and in the block only: elsewhere, adding and removing take no longer than in pygame.
        def add_internal(sprite: Any, layer: Any = None) -> None:
            add(sprite, layer)
            kept.append(sprite)

        def remove_internal(sprite: Any) -> None:
            remove(sprite)
            kept.remove(sprite)

        this.add_internal, this.remove_internal = add_internal, remove_internal
        try:
            yield self
        finally:
            del this._kept, this.add_internal, this.remove_internal


_SIZED = frozenset((theirs.AbstractGroup, theirs.Group, Group, list, tuple))
# Groups whose members are the same from one iteration to the next unless they are changed.
_GROUPS = (theirs.AbstractGroup, list, tuple)
# What these do when a sprite is killed is known: it leaves the group.
_KNOWN = frozenset(
    vars(kind)[name]
    for kind in [*vars(theirs).values(), Group]
    if isinstance(kind, type) and issubclass(kind, theirs.AbstractGroup)
    for name in ("__iter__", "sprites", "remove_internal")
    if name in vars(kind)
)


def _rects_of(sprites: list[Any]) -> list[Any]:
    """Read the rects of sprites.

    ``Sprite.rect`` is a property of pygame-ce that returns an attribute. Reading that takes a fourth of the time; it
    is done for sprites whose class has no ``rect`` of its own.
    """
    if not _HAS_RECT_PROPERTY or len(sprites) <= _FEW:
        return [one.rect for one in sprites]
    looks = ((0, 4), (4, 32), (32, None))  # where some classes have a ``rect`` of their own, a few mostly show it
    kinds = (set(map(type, sprites[slice(*look)])) for look in looks)
    if not all(map(_has_plain_rect, chain.from_iterable(kinds))):
        return [one.rect for one in sprites]
    return [one._Sprite__rect for one in sprites]


def _listed(group: Any) -> list[Any]:
    """List the sprites of a group in one copy; `list` would make others, for its length and its iterator."""
    kind: Any = type(group)
    if getattr(kind, "__iter__", None) is _ITER and kind.sprites is theirs.AbstractGroup.sprites:
        sprites: list[Any] = group.sprites()
        return sprites
    return list(group)


def _has_plain_rect(kind: Any) -> bool:
    return getattr(kind, "rect", None) is _RECT_PROPERTY and kind.__getattribute__ is object.__getattribute__


def _kept_by(group: Any) -> _Members | None:
    return group._kept if isinstance(group, Group) else None


class _Members:
    """The sprites of a group and their rects, as they were when they were read."""

    def __init__(self, sprites: list[Any]) -> None:
        self.sprites = sprites
        self.gone: set[int] = set()  # rows of sprites that have left the group
        self._rects: list[Any] = []
        self._numbers: NDArray[Any] | None = None
        self._rows: dict[Any, int] | None = None

    @staticmethod
    def of(group: Iterable[Any]) -> _Members:
        return _kept_by(group) or _Members(_listed(group))

    def living(self) -> list[Any]:
        """Return those that are still in the group."""
        gone = self.gone
        return [one for row, one in enumerate(self.sprites) if row not in gone] if gone else self.sprites

    def living_rects(self) -> list[Any]:
        """Return the rects of those that are still in the group."""
        rects, gone = self.rects(), self.gone
        return [one for row, one in enumerate(rects) if row not in gone] if gone else rects

    def touched_by(self, rect: Any) -> list[Any]:
        """Return those whose rects overlap a rect."""
        if type(rect) not in _CODES:
            return [one for one in self.living() if rect.colliderect(one.rect)]
        return [self.sprites[row] for row in rect.collidelistall(self.rects()) if row not in self.gone]

    def append(self, sprite: Any) -> None:
        if self._rows is not None:
            self._rows[sprite] = len(self.sprites)
        self.sprites.append(sprite)
        self._numbers = None

    def remove(self, sprite: Any) -> None:
        if self._rows is None:
            self._rows = {one: row for row, one in enumerate(self.sprites)}
        row = self._rows[sprite]
        if row < len(self._rects):
            self.gone.add(row)
        else:  # added and removed between two queries; it may never have had a rect
            del self.sprites[row]
            self._rows = None

    def rects(self) -> list[Any]:
        if len(self._rects) < len(self.sprites):
            self._rects += _rects_of(self.sprites[len(self._rects) :])
        return self._rects

    def numbers(self) -> NDArray[Any] | None:
        """x, y, width and height of each, int32 or float32; None unless all are Rects or all are FRects."""
        if self._numbers is None:
            rects = self.rects()
            if not rects:
                return np.empty((0, 4), np.int32)
            kinds = set(map(type, rects))
            code = _CODES.get(kinds.pop()) if len(kinds) == 1 else None
            if code is None:
                return None
            packed = struct.pack(f"{4 * len(rects)}{code}", *chain.from_iterable(rects))
            self._numbers = np.frombuffer(packed, code).reshape(-1, 4)
        return self._numbers

    def selected(self, sprites: list[Any]) -> _Members:
        """Return those of some sprites, as they were when they were read here."""
        if len(sprites) == len(self.sprites) and not self.gone:
            return self
        if self._rows is None:
            self._rows = {one: row for row, one in enumerate(self.sprites)}
        chosen = [self._rows[one] for one in sprites]
        result = _Members(sprites)
        rects = self.rects()
        result._rects = [rects[row] for row in chosen]
        if self._numbers is not None:
            result._numbers = self._numbers[chosen]
        return result


@np.errstate(over="ignore", invalid="ignore")
def _corners(numbers: NDArray[Any] | None) -> Corners | None:
    """Corners that compare as pygame does; None where its arithmetic overflows or rounds a size away."""
    if numbers is None:
        return None
    start, size = numbers[:, :2], numbers[:, 2:]
    if numbers.dtype == np.int32:
        end = start + size.astype(np.float64)
        exact = bool((np.abs(end) < 2.0**31).all())
    else:
        end = start + size
        exact = bool(np.isfinite(end).all() and ((end != start) | (size == 0)).all())
    return (np.minimum(start, end), np.maximum(start, end)) if exact else None


class _Rule(NamedTuple):
    """How collisions are decided."""

    #: What encloses all that a sprite can collide with; None: the rects themselves, and they decide.
    bounds: Callable[[_Members, NDArray[Any]], Corners | None] | None
    #: Decides for two sprites whose bounds overlap.
    test: Collided | None
    #: `bounds` sets the attribute ``radius`` of sprites without one, as pygame does when it compares them.
    sets_radius: bool = False
    #: `test` is code of the game, which may remove sprites from groups.
    is_foreign: bool = False
    #: `test` is what pygame calls: nothing is gained where all are near each other.
    is_pygames: bool = False


def _check(reach: float | None) -> None:
    if reach is not None and not 0.0 <= reach < math.inf:
        raise ValueError(f"reach: must be a number of pixels, 0 or more, got {quoted(reach)}")


def _rule(collided: Collided | None, reach: float | None) -> _Rule | None:
    """Find the rule; None: a function of which nothing is known, or one with an error that is left to pygame."""
    _check(reach)
    if collided is None or collided is _COLLIDE_RECT:
        return _Rule(None, None)
    if collided is theirs.collide_circle:
        return _Rule(_circle_bounds(1.0), collided, sets_radius=True, is_pygames=True)
    if collided is theirs.collide_mask:
        masks = _Masks()
        return _Rule(masks.bounds, masks.overlap)
    kind: Any = type(collided)
    if kind in (theirs.collide_rect_ratio, theirs.collide_circle_ratio):
        try:
            ratio = float(collided.ratio)  # type: ignore[attr-defined]
        except (TypeError, ValueError, OverflowError):
            return None  # the error is pygame's
        if kind is theirs.collide_rect_ratio:
            return _Rule(_rect_bounds(ratio, 0.0), collided, is_pygames=True)
        return _Rule(_circle_bounds(ratio), collided, sets_radius=True, is_pygames=True)
    return None if reach is None else _Rule(_rect_bounds(1.0, reach), collided, is_foreign=True)


def _rect_bounds(ratio: float, reach: float) -> Callable[[_Members, NDArray[Any]], Corners | None]:
    def bounds(members: _Members, numbers: NDArray[Any]) -> Corners | None:
        start, size = numbers[:, :2], numbers[:, 2:]
        grown = np.abs(size * ratio - size) / 2 + reach
        return np.minimum(start, start + size) - grown, np.maximum(start, start + size) + grown

    return bounds


def _circle_bounds(ratio: float) -> Callable[[_Members, NDArray[Any]], Corners | None]:
    def bounds(members: _Members, numbers: NDArray[Any]) -> Corners | None:
        try:
            radii = np.fromiter(map(_radius, members.sprites), np.float64, len(members.sprites))
        except (TypeError, ValueError, OverflowError):
            return None
        center, reach = numbers[:, :2] + numbers[:, 2:] / 2, np.abs(radii * ratio)[:, None]
        return center - reach, center + reach

    return bounds


def _radius(sprite: Any) -> Any:
    """Return the radius of a sprite; if it has none, compute and store it, as pygame does."""
    try:
        return sprite.radius
    except AttributeError:
        rect = sprite.rect
        sprite.radius = 0.5 * ((rect.width**2 + rect.height**2) ** 0.5)
        return sprite.radius


class _Masks:
    """The masks of one call; pygame makes that of a sprite without a mask from its image for every comparison."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def bounds(self, members: _Members, numbers: NDArray[Any]) -> Corners | None:
        try:
            sizes = [(one.mask if hasattr(one, "mask") else one.image).get_size() for one in members.sprites]
        except AttributeError:
            return None  # the error is pygame's
        start = numbers[:, :2]
        return start, start + np.array(sizes, np.float64).reshape(-1, 2)

    def overlap(self, left: Any, right: Any) -> Any:
        offset = right.rect[0] - left.rect[0], right.rect[1] - left.rect[1]
        return self._of(left).overlap(self._of(right), offset)

    def _of(self, sprite: Any) -> Any:
        try:
            return sprite.mask
        except AttributeError:
            if sprite not in self._made:
                self._made[sprite] = theirs.from_surface(sprite.image)
            return self._made[sprite]


@np.errstate(over="ignore", invalid="ignore")
def _bounds(members: _Members, rule: _Rule) -> Corners | None:
    """Return the bounds of sprites, slightly too large; None where rounding could decide otherwise in pygame."""
    numbers = members.numbers()
    if numbers is None or rule.bounds is None:
        return None
    bounds = rule.bounds(members, numbers.astype(np.float64))
    if bounds is None:
        return None
    lower, upper = bounds
    largest = np.maximum(np.abs(lower), np.abs(upper))
    if not (largest < _MOST[Rect if numbers.dtype == np.int32 else FRect]).all():  # NaN is not
        return None
    slack = _ROUNDING + 1e-6 * largest
    return lower - slack, upper + slack


def _met(sprite: Any, members: _Members, collided: Collided, reach: float | None) -> Iterator[Any]:
    """Find the sprites that collide with one sprite by a function, in order, as they are asked for."""
    sprites = members.living()
    rule = _rule(collided, reach) if len(sprites) >= _FEW_CALLS else None
    own = None if rule is None else _bounds(_Members([sprite]), rule)
    bounds = None if rule is None or own is None else _bounds(members, rule)
    if rule is None or own is None or bounds is None or rule.test is None:
        return (one for one in sprites if collided(sprite, one))
    overlapping = (bounds[0] <= own[1]) & (bounds[1] >= own[0])
    near = np.flatnonzero(overlapping[:, 0] & overlapping[:, 1]).tolist()
    test, gone = rule.test, members.gone
    return (members.sprites[row] for row in near if row not in gone and test(sprite, members.sprites[row]))


def _meetings(
    members: _Members, others: _Members, rule: _Rule, named: list[Any] | None
) -> Iterator[tuple[int, list[Any]]] | None:
    """Find for each sprite, in order, the others that it can collide with; None: ask pygame for all.

    The others are rows, or what `named` has in their place.
    """
    comparisons = len(members.sprites) * len(others.sprites)
    if rule.bounds is not None:
        own = _bounds(members, rule) if comparisons >= _FEW_CALLS else None
        other = None if own is None else _bounds(others, rule)
        if own is None or other is None:
            return None
        pairs = bp.pairs(own, other, sort=True)
        return None if rule.is_pygames and 4 * len(pairs) > 3 * comparisons else _by_first(pairs, named)
    rects = members.rects()
    if not set(map(type, rects)) <= _CODES.keys():
        return None
    if comparisons >= _FEW_COMPARISONS:
        own, other = _corners(members.numbers()), _corners(others.numbers())
        # A Rect compares itself with FRects rounded to whole pixels.
        if own is not None and other is not None and own[0].dtype == other[0].dtype:
            return _by_first(bp.pairs(own, other, touching=False, sort=True), named)
    against = others.rects()
    compared = ((row, rect.collidelistall(against)) for row, rect in enumerate(rects))
    return ((row, found if named is None else [named[one] for one in found]) for row, found in compared if found)


def _by_first(rows: NDArray[np.int32], named: list[Any] | None) -> Iterator[tuple[int, list[Any]]]:
    """Divide sorted pairs by their first number."""
    firsts = rows[:, 0]
    seconds = (rows[:, 1] if named is None else np.fromiter(named, object, len(named))[rows[:, 1]]).tolist()
    starts = np.flatnonzero(np.diff(firsts, prepend=-1))
    ends = [*starts[1:].tolist(), len(seconds)]
    found = zip(firsts[starts].tolist(), starts.tolist(), ends, strict=False)
    return ((row, seconds[start:end]) for row, start, end in found)


def _collisions(
    groupa: Iterable[Any], groupb: Any, dokillb: bool, rule: _Rule, collided: Collided | None
) -> dict[Any, list[Any]]:
    collisions: dict[Any, list[Any]] = {}
    kept = _kept_by(groupa)
    sprites = _listed(groupa)
    # Where sprites are killed, few may be left to be met by the next.
    start, count = 0, 1 if dokillb else len(sprites)
    others = _Members.of(groupb)
    while start < len(sprites):
        portion = sprites[start : start + count]
        members = _Members(portion) if kept is None else kept.selected(portion)
        if 4 * len(others.gone) > len(others.sprites):
            others = others.selected(others.living())
        start, count = start + len(portion), 4 * count
        plain = {one for one in portion if not hasattr(one, "radius")} if dokillb and rule.sets_radius else set()
        are_hits = rule.test is None and not dokillb and not others.gone
        meetings = _meetings(members, others, rule, others.sprites if are_hits else None)
        if meetings is None:
            _take_back_radius(portion, plain.difference(others.sprites))
            every = ((one, _SPRITECOLLIDE(one, groupb, dokillb, collided)) for one in portion)
            collisions.update((one, hits) for one, hits in every if hits)
            others = _Members.of(groupb)
            continue
        if are_hits:
            collisions.update((portion[row], hits) for row, hits in meetings)
            continue
        for row, found in meetings:
            hits = [other for other in found if other not in others.gone] if others.gone else found
            if rule.is_foreign and isinstance(groupb, theirs.AbstractGroup):
                hits = [other for other in hits if others.sprites[other] in groupb]
            if rule.test is not None:
                hits = [other for other in hits if rule.test(portion[row], others.sprites[other])]
            if not hits:
                continue
            collisions[portion[row]] = killed = [others.sprites[other] for other in hits]
            if dokillb and not _kill(killed, groupb):
                # What code of the game did when it was told of the kill is not known: begin again behind this sprite,
                # with one sprite, then with more as long as nobody else is killed.
                start, count = start - len(portion) + row + 1, 1
                _take_back_radius(portion[row + 1 :], plain.difference(others.sprites))
                others = _Members.of(groupb)
                break
            if dokillb and isinstance(groupb, theirs.AbstractGroup):
                others.gone.update(other for other in hits if others.sprites[other] not in groupb)
                if len(others.gone) == len(others.sprites):
                    _take_back_radius(portion[row + 1 :], plain.difference(others.sprites))
                    return collisions
    return collisions


def _take_back_radius(sprites: list[Any], plain: set[Any]) -> None:
    """Take the radius from `plain` sprites, which had none, where they are not compared after all."""
    for sprite in sprites:
        if sprite in plain:
            with suppress(AttributeError):  # it has not been given one
                del sprite.radius


def _kill(sprites: list[Any], group: Any) -> bool:
    """Kill sprites; return True if that can only have removed them from their groups."""
    is_known = type(group) in (list, tuple) or {type(group).__iter__, type(group).sprites} <= _KNOWN
    for sprite in sprites:
        is_known = is_known and getattr(sprite.kill, "__func__", None) is theirs.Sprite.kill
        is_known = is_known and all(type(one).remove_internal in _KNOWN for one in sprite.groups())
        sprite.kill()
    return is_known
