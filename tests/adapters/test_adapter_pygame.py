"""``broadphase.adapters.pygame`` against pygame-ce: its own tests, and twins of random scenes through both."""

import importlib
import os
import sys
import unittest

import numpy as np
import pytest

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
pygame = pytest.importorskip("pygame", reason="pygame-ce is not installed")
_paths = list(sys.path)
sprite_test = pytest.importorskip("pygame.tests.sprite_test", reason="pygame-ce comes without its tests")
sys.path[:] = _paths  # it puts pygame's folder in front, whose typing.py would stand before that of Python

import broadphase as bp  # noqa: E402 (the library is there)
from broadphase.adapters import pygame as ours  # noqa: E402 (the library is there)

theirs = pygame.sprite
NAMES = ("spritecollide", "groupcollide", "spritecollideany", "Group")

BY_FIRST = ours._by_first
LEAST = 2**31 - 1
ROADS = {"as it is": (), "arrays": ("_FEW_COMPARISONS", "_FEW_CALLS", "_FEW")}


@pytest.fixture(params=ROADS)
def road(request, monkeypatch):
    """The sizes as measured; and arrays for any number of sprites."""
    for name in ROADS[request.param]:
        monkeypatch.setattr(ours, name, 1)


@pytest.mark.usefixtures("road")
def test_tests_of_pygame_pass_with_ours_in_place_of_its_functions(monkeypatch):
    calls = dict.fromkeys(NAMES[:3], 0)

    def counted(name):
        def call(*arguments, **options):
            calls[name] += 1
            return getattr(ours, name)(*arguments, **options)

        return call

    for name in NAMES[:3]:
        monkeypatch.setattr(theirs, name, counted(name))
    monkeypatch.setattr(theirs, "Group", ours.Group)
    result = unittest.TestResult()
    names = [name for name in vars(sprite_test) if name.endswith("Test") and name != "SpriteModuleTest"]
    unittest.defaultTestLoader.loadTestsFromNames(names, sprite_test).run(result)
    assert result.failures == result.errors == []
    assert result.testsRun > 30
    assert min(calls.values()) > 3


class Ball(theirs.Sprite):
    """A sprite with a number, by which twins are compared."""

    def __init__(self, number, rect, mask=None, radius=None):
        super().__init__()
        self.number, self.rect = number, rect
        self.image = pygame.Surface((1 + number % 9, 7), pygame.SRCALPHA)
        self.image.fill((255, 255, 255, 255))
        if mask is not None:
            self.mask = mask
        if radius is not None:
            self.radius = radius


class Spawning(Ball):
    """Killed, it puts a new sprite into its groups and moves another."""

    def kill(self):
        groups = self.groups()
        super().kill()
        if self.number >= 1000:
            return
        for group in groups:
            group.add(Spawning(self.number + 1000, self.rect.move(5, 0)))
            group.sprites()[0].rect.move_ip(3, -2)


class Lasting(Ball):
    """It does not leave its groups when it is killed."""

    killed = 0

    def kill(self):
        self.killed += 1


def whole_rects(rng, count, world=100):
    numbers = np.concatenate((rng.integers(0, world, (count, 2)), rng.integers(-9, 14, (count, 2))), axis=1)
    return [pygame.Rect(*one) for one in numbers.tolist()]


def fractional_rects(rng, count):
    return [pygame.FRect(*one) for one in (rng.integers(-400, 400, (count, 4)) / 16).tolist()]


def mixed_rects(rng, count):
    both = zip(whole_rects(rng, count, 20), fractional_rects(rng, count), strict=True)
    return [one[number % 2] for number, one in enumerate(both)]


def overflowing_rects(rng, count):
    return [*whole_rects(rng, count), pygame.Rect(LEAST, 0, 5, 5), pygame.Rect(-LEAST - 1, 0, -5, 5)]


def rounded_rects(rng, count):
    """Sizes that vanish when they are added to the corner; pygame compares them all the same."""
    return [*fractional_rects(rng, count), pygame.FRect(2**24, 0, 1e-3, 4), pygame.FRect(2**24 - 4, 0, 9, 4)]


def endless_rects(rng, count):
    far = [pygame.FRect(-np.inf, 0, 5, 5), pygame.FRect(0, 0, np.inf, 3), pygame.FRect(1, np.nan, 3, 3)]
    return [*fractional_rects(rng, count), *far, pygame.FRect(-3e38, 0, -3e38, 5)]


SCENES = [whole_rects, fractional_rects, mixed_rects, overflowing_rects, rounded_rects, endless_rects]


def masked_balls(rects, rng, kind):
    for number, rect in enumerate(rects):
        size = rng.integers(1, 30, 2).tolist()
        mask = None if number % 3 == 0 else pygame.Mask(size, fill=number % 3 == 1)
        radius = None if number % 2 == 0 else float(rng.integers(-3, 12))
        yield kind(number, rect, mask, radius)


def twins(seed, scene, group=theirs.Group, kind=Ball, count=24):
    """Two groups, the second with some sprites of the first; the same each time."""
    rng = np.random.default_rng(seed)
    first, second = (group(*masked_balls(scene(rng, count), rng, kind)) for _ in range(2))
    second.add(first.sprites()[::7])
    return first, second


def numbers_of(collisions):
    if isinstance(collisions, dict):
        return [(one.number, [other.number for other in others]) for one, others in collisions.items()]
    return [one.number for one in collisions]


def state_of(*groups):
    return [
        [(one.number, str(one.rect), getattr(one, "radius", None), getattr(one, "killed", 0)) for one in group]
        for group in groups
    ]


KINDS = {
    "default": None,
    "rect": theirs.collide_rect,
    "ratio 0.5": theirs.collide_rect_ratio(0.5),
    "ratio 2.3": theirs.collide_rect_ratio(2.3),
    "ratio -1.5": theirs.collide_rect_ratio(-1.5),
    "circle": theirs.collide_circle,
    "circle 0.7": theirs.collide_circle_ratio(0.7),
    "circle 3": theirs.collide_circle_ratio(3),
    "mask": theirs.collide_mask,
    "own": lambda left, right: (left.number + right.number) % 5 == 0,
}


def result_of(call):
    """What it returns, or the type of its error."""
    try:
        return call()
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scene", SCENES)
def test_groupcollide_of_twins_equals_that_of_pygame(scene, kind):
    for seed, (dokilla, dokillb) in enumerate([(False, False), (False, True), (True, True)]):
        outcomes = []
        for module in (theirs, ours):
            first, second = twins(seed, scene)
            found = result_of(lambda: module.groupcollide(first, second, dokilla, dokillb, KINDS[kind]))  # noqa: B023
            outcomes.append((found, ()) if isinstance(found, type) else (numbers_of(found), state_of(first, second)))
        assert outcomes[0] == outcomes[1]


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("rect", "ratio 0.5", "circle 0.7")])
@pytest.mark.parametrize("scene", SCENES)
def test_spritecollide_of_twins_equals_that_of_pygame(scene, kind):
    for dokill in (False, True):
        outcomes = []
        for module in (theirs, ours):
            first, second = twins(5, scene)
            found = [
                result_of(lambda one=one: numbers_of(module.spritecollide(one, second, dokill, KINDS[kind])))  # noqa: B023
                for one in first
            ]
            outcomes.append((found, state_of(first, second)))
        assert outcomes[0] == outcomes[1]


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("kind", ["default", "ratio 2.3", "circle", "mask", "own"])
@pytest.mark.parametrize("scene", SCENES)
def test_spritecollideany_of_twins_equals_that_of_pygame(scene, kind):
    outcomes = []
    for module in (theirs, ours):
        first, second = twins(6, scene)
        hits = [result_of(lambda one=one: module.spritecollideany(one, second, KINDS[kind])) for one in first]  # noqa: B023
        outcomes.append(([getattr(one, "number", one) for one in hits], state_of(first, second)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("kind", ["default", "circle"])
def test_groupcollide_with_kills_in_several_portions_equals_that_of_pygame(kind, monkeypatch):
    monkeypatch.setattr(ours, "_FEW_COMPARISONS", 50)
    for seed in range(3):
        for spawning in (Ball, Spawning):
            outcomes = []
            for module in (theirs, ours):
                first, second = twins(seed, whole_rects, kind=spawning, count=60)
                found = module.groupcollide(first, second, False, True, KINDS[kind])
                outcomes.append((numbers_of(found), state_of(first, second)))
            assert outcomes[0] == outcomes[1]


def crowded_rects(rng, count):
    return [pygame.Rect(*one) for one in np.column_stack([rng.integers(0, 5, (count, 2)), [[9, 9]] * count]).tolist()]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "own"])
def test_groupcollide_of_a_crowd_equals_that_of_pygame(kind, monkeypatch):
    for name in ("_FEW_CALLS", "_FEW_COMPARISONS"):
        monkeypatch.setattr(ours, name, 1)
    divided = []
    monkeypatch.setattr(ours, "_by_first", lambda *pairs: divided.append(1) or BY_FIRST(*pairs))
    for seed, dokillb in enumerate((False, True)):
        outcomes = []
        for module in (theirs, ours):
            first, second = twins(seed, crowded_rects, count=40)
            found = module.groupcollide(first, second, False, dokillb, KINDS[kind])
            outcomes.append((numbers_of(found), state_of(first, second)))
        assert outcomes[0] == outcomes[1]
    # Where pygame's own function decides, and nearly all are pairs, it is left to pygame.
    assert bool(divided) == (kind in ("default", "rect", "mask"))


def test_random_scenes_have_many_collisions_and_many_sprites_without():
    first, second = twins(0, whole_rects)
    found = theirs.groupcollide(first, second, False, False)
    assert 5 < len(found) < 20


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("kind", [Spawning, Lasting])
@pytest.mark.parametrize("collided", ["default", "circle"])
def test_groupcollide_with_kill_of_the_game_sees_what_it_does(kind, collided):
    for seed in range(2):
        outcomes = []
        for module in (theirs, ours):
            first, second = twins(seed, whole_rects, kind=kind)
            found = module.groupcollide(first, second, True, True, KINDS[collided])
            outcomes.append((numbers_of(found), state_of(first, second)))
        assert outcomes[0] == outcomes[1]


class Choosy(theirs.Group):
    """A group that shows some of its sprites only, by what is left in it."""

    def sprites(self):
        return [one for one in self.spritedict if (one.number + len(self.spritedict)) % 3]


GROUPS = {
    "layered": theirs.LayeredUpdates,
    "dirty": theirs.RenderUpdates,
    "list": lambda *sprites: SpriteList(sprites),
    "choosy": Choosy,
}


class SpriteList(list):
    """A list with the one method of groups that `twins` uses."""

    def sprites(self):
        return self

    def add(self, sprites):
        self.extend(sprites)


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("group", GROUPS)
def test_groupcollide_with_other_groups_equals_that_of_pygame(group):
    outcomes = []
    for module in (theirs, ours):
        first, second = twins(1, whole_rects, GROUPS[group])
        plain = list(second) if group == "list" else second
        found = module.groupcollide(first, plain, False, True)
        outcomes.append((numbers_of(found), state_of(first, plain)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.usefixtures("road")
def test_groupcollide_of_a_group_with_itself_equals_that_of_pygame():
    outcomes = []
    for module in (theirs, ours):
        group, _ = twins(2, whole_rects)
        outcomes.append((numbers_of(module.groupcollide(group, group, False, True)), state_of(group)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.usefixtures("road")
def test_groupcollide_of_an_iterator_equals_that_of_pygame():
    first, second = twins(3, whole_rects)
    expected = theirs.groupcollide(first, iter(second.sprites()), False, False)
    assert ours.groupcollide(first, iter(second.sprites()), False, False) == expected
    assert ours.groupcollide(iter(first.sprites()), second, False, False) == theirs.groupcollide(
        first, second, False, False
    )


@pytest.mark.usefixtures("road")
def test_sprites_without_rects_raise_as_in_pygame():
    group = theirs.Group(theirs.Sprite())
    ball = Ball(0, pygame.Rect(0, 0, 1, 1))
    for call in ("spritecollide", "spritecollideany"):
        options = (False,) if call == "spritecollide" else ()
        for sprite, others in ((ball, group), (theirs.Sprite(), theirs.Group(ball))):
            with pytest.raises((TypeError, AttributeError)) as expected:
                getattr(theirs, call)(sprite, others, *options)
            with pytest.raises(expected.type):
                getattr(ours, call)(sprite, others, *options)
    with pytest.raises(TypeError):
        ours.groupcollide(theirs.Group(ball), group, False, False)


def near(left, right):
    return abs(left.rect.centerx - right.rect.centerx) < 20 and abs(left.rect.centery - right.rect.centery) < 20


@pytest.mark.usefixtures("road")
def test_own_function_with_reach_is_called_for_near_sprites_only():
    calls = []

    def counted(left, right):
        calls.append((left.number, right.number))
        return near(left, right)

    first, second = twins(4, whole_rects, count=60)
    expected = numbers_of(theirs.groupcollide(first, second, False, False, near))
    assert numbers_of(ours.groupcollide(first, second, False, False, counted, reach=20)) == expected
    assert len(calls) < 0.8 * len(first) * len(second)
    one = first.sprites()[3]
    expected = theirs.spritecollide(one, second, False, near)
    assert ours.spritecollide(one, second, False, counted, reach=20) == expected
    assert ours.spritecollideany(one, second, counted, reach=20) is (expected or [None])[0]


def test_own_function_that_kills_is_not_called_for_the_killed(monkeypatch):
    monkeypatch.setattr(ours, "_FEW_CALLS", 1)
    outcomes = []
    for module, options in ((theirs, {}), (ours, {"reach": 20})):
        first, second = twins(4, whole_rects)

        def greedy(left, right):
            return near(left, right) and (right.kill() or True)

        found = module.groupcollide(first, second, False, False, greedy, **options)
        outcomes.append((numbers_of(found), state_of(first, second)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("reach", [-1, float("nan"), float("inf")])
def test_reach_that_is_no_distance_raises(reach):
    for count in (3, 300):
        first, second = twins(0, whole_rects, count=count)
        for call in (ours.groupcollide, ours.spritecollide, ours.spritecollideany):
            one = first if call is ours.groupcollide else first.sprites()[0]
            kills = {ours.groupcollide: (False, False), ours.spritecollide: (False,)}.get(call, ())
            with pytest.raises(ValueError, match="reach: must be a number of pixels"):
                call(one, second, *kills, near, reach=reach)


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("kind", ["default", "circle", "own"])
def test_still_group_answers_as_pygame_while_sprites_come_and_go(kind):
    outcomes = []
    for group in (theirs.Group, ours.Group):
        module = ours if group is ours.Group else theirs
        first, second = twins(7, whole_rects, group)
        said = []

        def play(first, second, module, said):
            for step, one in enumerate(first.sprites()):
                said.append(numbers_of(module.spritecollide(one, second, step % 3 == 0, KINDS[kind])))
                any_hit = module.spritecollideany(one, second, KINDS[kind])
                said.append(getattr(any_hit, "number", None))
                late = Ball(2000 + step, pygame.Rect(step, step, 20, 20))
                second.add(late)
                if step % 4 == 0:
                    second.remove(late)
                if step % 9 == 0:
                    said.append(numbers_of(module.groupcollide(first, second, False, True, KINDS[kind])))
                    said.append(numbers_of(module.groupcollide(second, first, True, False, KINDS[kind])))

        if group is ours.Group:
            with first.still(), second.still() as same:
                assert same is second
                play(first, second, module, said)
        else:
            play(first, second, module, said)
        outcomes.append((said, state_of(first, second)))
    assert outcomes[0] == outcomes[1]


def counting_balls(count):
    """Sprites whose rect is a property of their own, and a list that has an entry for each time it is read."""
    reads = []

    class Counting(Ball):
        @property
        def rect(self):
            reads.append(self.number)
            return self._rect

        @rect.setter
        def rect(self, rect):
            self._rect = rect

    return [Counting(number, pygame.Rect(number, 0, 5, 5)) for number in range(count)], reads


def test_still_group_reads_each_rect_once():
    balls, reads = counting_balls(50)
    group = ours.Group(*balls)
    asking = Ball(99, pygame.Rect(10, 0, 3, 3))
    reads.clear()
    with group.still():
        for _ in range(7):
            assert numbers_of(ours.spritecollide(asking, group, False)) == [6, 7, 8, 9, 10, 11, 12]
        assert reads == list(range(50))
        with group.still():
            ours.groupcollide(group, group, False, False)
        ours.spritecollideany(asking, group)
    assert len(reads) == 50
    group.sprites()[0].rect.x = 10
    assert numbers_of(ours.spritecollide(asking, group, False)) == [0, 6, 7, 8, 9, 10, 11, 12]


LISTS = ("collidelist", "collidelistall")
OBJECTS = ("collideobjects", "collideobjectsall")


def asked_of_lists(name, group, rect):
    """What pygame says of a list of what a group contains, and what the group says."""
    given = list(group) if name in OBJECTS else [one.rect for one in group]
    return result_of(lambda: getattr(rect, name)(given)), result_of(lambda: getattr(group, name)(rect))


@pytest.mark.parametrize("name", [*LISTS, *OBJECTS])
@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("count", [0, 1, 16, 23, 24, 128, 129, 256, 257, 700])
def test_rects_of_a_group_are_found_as_in_a_list(scene, name, count):
    rng = np.random.default_rng(count)
    group = ours.Group(Ball(number, rect) for number, rect in enumerate(scene(rng, count)[:count]))
    asking = [*scene(rng, 30), pygame.Rect(-5000, -5000, 3, 3), pygame.FRect(10, 10, 60, 60)]
    hits = [asked_of_lists(name, group, rect) for rect in asking]
    assert [found for _, found in hits] == [expected for expected, _ in hits]
    with group.still():
        assert [asked_of_lists(name, group, rect)[1] for rect in asking] == [expected for expected, _ in hits]
        group.remove(group.sprites()[1::3])
        group.add(Ball(999, pygame.Rect(10, 10, 20, 20)))
        for rect in asking:
            expected, found = asked_of_lists(name, group, rect)
            assert found == expected


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("count", [3, 40])
def test_objects_of_a_group_are_found_by_a_key_and_by_rects_that_are_methods(name, count):
    class Called(Ball):
        rect = property(lambda self: lambda: self.place, lambda self, rect: setattr(self, "place", rect))

    asking = pygame.Rect(20, 0, 9, 9)
    for kind in (Ball, Called):
        group = ours.Group(kind(number, pygame.Rect(3 * number, 0, 5, 5)) for number in range(count))
        expected, found = asked_of_lists(name, group, asking)
        assert found == expected
        assert bool(expected) == (count > 3)
        with group.still():
            assert getattr(group, name)(asking) == expected
    group = ours.Group(Ball(number, pygame.Rect(3 * number, 0, 5, 5)) for number in range(count))

    def key(sprite):
        return sprite.rect.move(20 - count, 0)

    expected = getattr(asking, name)(list(group), key=key)
    assert getattr(group, name)(asking, key=key) == expected
    assert expected


def test_rect_of_a_sprite_of_pygame_is_a_property_that_only_returns_the_attribute_read_in_its_place():
    sprite = theirs.Sprite()
    sprite.rect = pygame.Rect(1, 2, 3, 4)
    assert sprite._Sprite__rect is sprite.rect
    assert ours._HAS_RECT_PROPERTY


def test_first_rect_of_a_group_is_found_without_reading_all():
    balls, reads = counting_balls(500)
    group = ours.Group(balls)
    reads.clear()
    assert group.collidelist(pygame.Rect(3, 0, 2, 2)) == 0
    assert len(reads) == 128
    assert group.collideobjects(pygame.Rect(3, 0, 2, 2)).number == 0
    assert len(reads) == 129
    assert group.collideobjects(pygame.Rect(30, 0, 2, 2)).number == 26
    assert len(reads) == 129 + 27


def test_rects_of_a_group_are_not_compared_with_what_is_none():
    group = ours.Group(Ball(0, pygame.Rect(0, 0, 5, 5)))
    for name in (*LISTS, *OBJECTS):
        with pytest.raises(AttributeError):
            getattr(group, name)((0, 0, 3, 3))
    group.add(theirs.Sprite())
    for name in (*LISTS, *OBJECTS):
        expected, found = asked_of_lists(name, group, pygame.Rect(9, 9, 3, 3))
        assert found is expected is TypeError


def test_boxes_of_a_group_are_the_corners_of_its_rects():
    group = ours.Group(*(Ball(number, pygame.Rect(*rect)) for number, rect in enumerate([(1, 2, 3, 4), (9, 9, -2, 5)])))
    assert group.boxes.tolist() == [[[1, 2], [4, 6]], [[7, 9], [9, 14]]]
    with group.still():
        first = group.sprites()[0]
        assert len(group.boxes) == 2
        first.kill()
        assert group.boxes.tolist() == [[[7, 9], [9, 14]]]
    group.empty()
    assert group.boxes.shape == (0, 2, 2)
    group.add(Ball(0, pygame.FRect(0.5, 0, 1, 1)))
    assert group.boxes.dtype == np.float32
    group.add(Ball(1, pygame.Rect(0, 0, 1, 1)))
    with pytest.raises(TypeError, match=r"must all be pygame\.Rect, or all pygame\.FRect"):
        _ = group.boxes
    group.empty()
    group.add(Ball(0, pygame.FRect(np.nan, 0, 1, 1)))
    with pytest.raises(ValueError, match="NaN, infinite or outside int32"):
        _ = group.boxes


class Plain:
    """Not a Sprite of pygame, but it has what the functions read."""

    def __init__(self, rect):
        self.rect = rect


def test_sprites_of_other_classes_are_read_by_their_rect():
    rects = [pygame.Rect(x, 0, 3, 3) for x in range(0, 200, 2)]
    asking = Ball(0, pygame.Rect(9, 0, 3, 3))
    plain = [Plain(rect) for rect in rects]
    balls, _ = counting_balls(100)
    for sprites in (plain, balls, [*balls, *plain]):
        expected = theirs.spritecollide(asking, sprites, False)
        assert len(expected) >= 2
        assert ours.spritecollide(asking, sprites, False) == expected
        assert ours.groupcollide(sprites, sprites, False, False) == theirs.groupcollide(sprites, sprites, False, False)


def test_pygame_without_frect_is_not_taken_for_pygame_ce(monkeypatch):
    monkeypatch.delattr(pygame, "FRect")
    monkeypatch.delitem(sys.modules, "broadphase.adapters.pygame")
    with pytest.raises(bp.errors.MissingExtraError, match="needs pygame-ce, not pygame"):
        importlib.import_module("broadphase.adapters.pygame")
