"""``broadphase.adapters.arcade`` against arcade, whose wheel has no tests: the same calls of both, without a window."""

import gc
import os
import weakref

import numpy as np
import pytest

os.environ.setdefault("ARCADE_HEADLESS", "True")
arcade = pytest.importorskip("arcade", reason="arcade is not installed")

from arcade.hitbox import HitBox  # noqa: E402 (the library is there)

from broadphase.adapters import arcade as ours  # noqa: E402


@pytest.fixture(params=["as it is", "arrays"])
def road(request, monkeypatch):
    """The sizes as measured; and arrays for any number of sprites."""
    if request.param == "arrays":
        monkeypatch.setattr(ours, "_FEW", 1)


STAR = [(0, 9), (2, 2), (9, 1), (3, -2), (6, -9), (0, -4), (-6, -9), (-3, -2), (-9, 1), (-2, 2)]
TRIANGLE = [(-9, -9), (9, -9), (0, 9)]


def plain(rng, number):
    return arcade.SpriteSolidColor(20, 20, *rng.integers(0, 200, 2).tolist())


def turned(rng, number):
    sprite = arcade.SpriteSolidColor(*rng.integers(1, 40, 2).tolist(), *(rng.random(2) * 200).tolist())
    sprite.angle = float(rng.choice([0, 90, 45, 400, rng.random() * 360]))
    sprite.scale = float(rng.random() * 2), float(rng.random() * 2)
    return sprite


def shaped(rng, number):
    """Hit boxes of other shapes, mirrored ones and basic sprites, which cannot turn."""
    if number % 5 == 0:
        return arcade.BasicSprite(arcade.make_soft_square_texture(18, arcade.color.RED), 1.5, *rng.integers(0, 200, 2))
    sprite = turned(rng, number)
    if number % 5 < 3:
        sprite.hit_box = HitBox(STAR if number % 2 else TRIANGLE, sprite.position, sprite.scale)
    sprite.scale_x *= -1 if number % 3 else 1
    return sprite


def on_a_lattice(rng, number):
    """Sprites that share edges and corners, which is no collision."""
    return arcade.SpriteSolidColor(20, 20, *(rng.integers(0, 8, 2) * 20).tolist())


def extreme(rng, number):
    """Far, huge, infinite and of zero size, and what is not a number."""
    sprite = turned(rng, number)
    change = {
        0: lambda: setattr(sprite, "position", (1e12, 1e12 + number)),
        1: lambda: setattr(sprite, "position", (1e39, 3.0)),
        2: lambda: setattr(sprite, "position", (np.inf, 0.0)),
        3: lambda: setattr(sprite, "position", (np.nan, 5.0)),
        4: lambda: setattr(sprite, "scale", (1e9, 1e-9)),
        5: lambda: setattr(sprite, "scale", (0.0, 0.0)),
        6: lambda: setattr(sprite, "angle", np.nan),
        7: lambda: setattr(sprite, "scale", (np.inf, 1.0)),
        8: lambda: setattr(sprite, "scale", (-3.0, -50.0)),
        9: lambda: setattr(sprite, "hit_box", HitBox([], sprite.position)),
    }.get(number % 14)
    if change:
        change()
    return sprite


SCENES = [plain, turned, shaped, on_a_lattice, extreme]


def made(scene, seed=0, count=40):
    rng = np.random.default_rng(seed)
    sprites = arcade.SpriteList(lazy=True)
    sprites.extend(scene(rng, number) for number in range(count))
    return sprites


def assert_same_hits(asking, sprites):
    hits = 0
    for one in asking:
        expected = arcade.check_for_collision_with_list(one, sprites, method=3)
        found = ours.check_for_collision_with_list(one, sprites)
        assert [id(other) for other in found] == [id(other) for other in expected]
        hits += len(found)
    return hits


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("scene", SCENES)
def test_with_list_finds_the_sprites_of_arcade_in_its_order(scene):
    sprites = made(scene)
    assert assert_same_hits([*sprites, *made(scene, 1)], sprites) > 10


@pytest.mark.parametrize("scene", [turned, shaped])
def test_with_list_of_many_sprites_finds_those_of_arcade(scene):
    sprites = made(scene, 2, 300)
    assert assert_same_hits(sprites[:25], sprites) > 200


@pytest.mark.usefixtures("road")
def test_with_list_follows_every_change_of_the_list():
    sprites, others = made(turned, 3, 60), made(turned, 4, 40)
    changes = [
        lambda: sprites.remove(sprites[7]),
        lambda: sprites.pop(),
        lambda: sprites.pop(3),
        lambda: sprites.pop(-2),
        lambda: sprites.append(others[0]),
        lambda: sprites.insert(2, others[1]),
        lambda: sprites.__setitem__(5, others[2]),
        lambda: sprites.sort(key=lambda one: one.center_x),
        sprites.reverse,
        sprites.shuffle,
        lambda: sprites.swap(1, 9),
        lambda: sprites.move(30, -3),
        lambda: [setattr(one, "angle", one.angle + 30) for one in sprites],
        lambda: setattr(sprites[4], "scale", 3),
        lambda: setattr(sprites[4], "width", 200),
        lambda: sprites[6].kill(),
        lambda: sprites.append(sprites.pop(10)),
        lambda: sprites.insert(0, sprites.pop(-1)),
        lambda: sprites.extend(others[5:30]),
        sprites.clear,
        lambda: sprites.append(others[31]),
    ]
    for change in changes:
        change()
        assert_same_hits([*others[:12], *sprites[:6]], sprites)


def test_sprite_list_that_was_queried_is_freed_with_its_sprites(monkeypatch):
    monkeypatch.setattr(ours, "_FEW", 1)
    sprites = made(plain)
    ours.check_for_collision_with_list(sprites[0], sprites)
    alive = [weakref.ref(sprites), weakref.ref(sprites[0])]
    del sprites
    gc.collect()
    assert [one() for one in alive] == [None, None]


PRIVATE = {
    "_sprite_pos_angle_data": lambda sprite: [*sprite.position, 0.0, sprite.angle],
    "_sprite_size_data": lambda sprite: [sprite.width, sprite.height],
}


@pytest.mark.parametrize("name", PRIVATE)
def test_private_array_of_a_sprite_list_of_arcade_holds_what_is_read_there(name):
    sprites = made(plain)
    sprites[3].position, sprites[3].angle = (1.5, -2.0), 30.0
    numbers = np.frombuffer(getattr(sprites, name), np.float32)
    width = len(PRIVATE[name](sprites[0]))
    rows = numbers.reshape(-1, width)[[sprites.sprite_slot[one] for one in sprites]]
    kept = [column for column in range(width) if width == 2 or column != 2]
    assert rows[:, kept].tolist() == [[PRIVATE[name](one)[column] for column in kept] for one in sprites]


def test_private_sprite_index_data_of_a_sprite_list_of_arcade_is_its_slots_in_order():
    sprites = made(plain)
    sprites.swap(1, 7)
    slots = [sprites.sprite_slot[one] for one in sprites]
    assert sprites._sprite_index_data.itemsize == 4
    assert sprites._sprite_index_data[: len(sprites)].tolist() == slots


@pytest.mark.usefixtures("road")
def test_with_lists_finds_the_sprites_of_each_list():
    lists = [made(turned, seed) for seed in range(3)]
    lists.append(lists[0])
    hashed = made(turned, 9)
    hashed.enable_spatial_hashing(64)
    for one in lists[1]:
        expected = arcade.check_for_collision_with_lists(one, lists, method=3)
        assert ours.check_for_collision_with_lists(one, lists) == expected
        for method in (0, 1, 3):
            expected = arcade.check_for_collision_with_lists(one, [hashed, lists[2]], method and 3)
            for both in ([hashed, lists[2]], iter([hashed, lists[2]])):
                found = ours.check_for_collision_with_lists(one, both, method)
                assert sorted(map(id, found)) == sorted(map(id, expected))


@pytest.mark.usefixtures("road")
def test_wrong_types_raise_as_in_arcade():
    sprites = made(plain)
    for arguments in ((None, sprites), (sprites[0], [sprites[1]]), (sprites, sprites)):
        with pytest.raises(TypeError) as expected:
            arcade.check_for_collision_with_list(*arguments)
        with pytest.raises(TypeError) as caught:
            ours.check_for_collision_with_list(*arguments)
        assert str(caught.value) == str(expected.value)
    for module in (arcade, ours):
        with pytest.raises(TypeError, match="not an instance of the BasicSprite class"):
            module.check_for_collision_with_lists(None, [])
    assert ours.check_for_collision is arcade.check_for_collision


def mixed(rng, number):
    """Hit boxes of 2 to 10 corners and of numbers that arcade computes with otherwise, beside whole ones."""
    sprite = shaped(rng, number)
    if number % 5 and number % 2:
        corners = [[], [(0, 0), (9, 9)], STAR[:5], [(-8, -8), (8, -8), (8, 8), (-8, 8)]][number // 2 % 4]
        sprite.hit_box = HitBox(corners, tuple(map(int, sprite.position)), (1, 1))
    if number % 7 == 3:
        sprite.position = tuple(np.float32(sprite.position))
    return sprite


POINT_QUERIES = ("get_sprites_at_point", "get_sprites_at_exact_point", "get_sprites_in_rect", "get_closest_sprite")


def questions(name, sprites, rng):
    """What is asked of a list: points on and near its sprites, level with their corners, and any."""
    for number in range(60):
        one = sprites[int(rng.integers(len(sprites)))]
        corners = one.hit_box.get_adjusted_points()
        x, y = corners[number % len(corners)] if corners else one.position
        kinds = [(x, y), (x + 30, y), (x - 30.5, y), one.position, tuple(rng.integers(0, 200, 2).tolist())]
        point = (*kinds, tuple((rng.random(2) * 200).tolist()))[number % 6]
        point = tuple(one.item() if isinstance(one, np.generic) else one for one in point)
        if name == "get_closest_sprite":
            yield arcade.BasicSprite(arcade.make_soft_square_texture(9, arcade.color.RED), 1, *point)
        elif name == "get_sprites_in_rect":
            sides = rng.integers(-3, 90, 2).tolist() if number % 2 else (rng.random(2) * 90).tolist()
            yield arcade.LBWH(*point, *sides)
        else:
            yield point


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("name", POINT_QUERIES)
@pytest.mark.parametrize("scene", [*SCENES, mixed])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_queries_find_the_sprites_of_arcade_in_its_order(scene, name):
    found = 0
    for count in (1, 31, 32, 120):
        sprites = made(scene, count, count)
        for hashed in (False, True):
            if hashed and scene is not extreme and (scene is not mixed or count == 1):
                sprites.enable_spatial_hashing(64)
            for question in questions(name, sprites, np.random.default_rng(count)):
                expected, said = (getattr(module, name)(question, sprites) for module in (arcade, ours))
                if name == "get_closest_sprite":
                    assert said[0] is expected[0]
                    assert repr(said[1]) == repr(expected[1])
                else:
                    assert list(map(id, said)) == list(map(id, expected))
                    found += len(said)
    assert found > 50 or name == "get_closest_sprite"


@pytest.mark.parametrize("scene", [plain, on_a_lattice])
def test_queries_of_many_sprites_follow_their_changes(scene):
    sprites, others = made(scene, 1, 400), made(scene, 2, 5)
    changes = [
        lambda: sprites.remove(sprites[7]),
        lambda: sprites.insert(2, others[0]),
        lambda: setattr(sprites[4], "position", others[1].position),
        lambda: [setattr(one, "center_x", one.center_x + 3) for one in sprites[::2]],
        lambda: setattr(sprites[4], "hit_box", HitBox(STAR, (900, 900))),
        sprites.reverse,
    ]
    for change in changes:
        change()
        for one in others:
            for name in POINT_QUERIES:
                question = (
                    one if "closest" in name else arcade.LBWH(*one.position, 9, 9) if "rect" in name else one.position
                )
                assert getattr(ours, name)(question, sprites) == getattr(arcade, name)(question, sprites)


@pytest.mark.usefixtures("road")
def test_point_level_with_a_corner_is_inside_as_in_arcade():
    sprites = arcade.SpriteList(lazy=True)
    for number in range(60):
        sprites.append(arcade.SpriteSolidColor(20, 20, 40 * number, 0))
        sprites[-1].hit_box = HitBox(TRIANGLE, sprites[-1].position)
    assert len(arcade.get_sprites_at_point((1000.5, 9.0), sprites)) > 20  # it counts a corner to the left of the point
    assert ours.get_sprites_at_point((1000.5, 9.0), sprites) == arcade.get_sprites_at_point((1000.5, 9.0), sprites)


def test_queries_of_empty_lists_and_wrong_types_are_those_of_arcade():
    empty, rect = arcade.SpriteList(lazy=True), arcade.LBWH(0, 0, 5, 5)
    for name in POINT_QUERIES:
        question = made(plain)[0] if "closest" in name else rect if "rect" in name else (1, 2)
        assert getattr(ours, name)(question, empty) == getattr(arcade, name)(question, empty)
        if "closest" not in name:
            with pytest.raises(TypeError) as expected:
                getattr(arcade, name)(question, [made(plain)[0]])
            with pytest.raises(TypeError) as caught:
                getattr(ours, name)(question, [made(plain)[0]])
            assert str(caught.value) == str(expected.value)
    sprites = list(made(plain))
    assert ours.get_closest_sprite(sprites[3], sprites) == arcade.get_closest_sprite(sprites[3], sprites)


def hashes(scene, seed, cell_size):
    """A list with the hash of arcade and one with ours, and the number of each sprite."""
    pair, numbers = [], {}
    for _ in range(2):
        pair.append(made(scene, seed))
        numbers.update((one, number) for number, one in enumerate(pair[-1]))
    pair[0].enable_spatial_hashing(cell_size)
    ours.SpatialHash.of(pair[1], cell_size)
    assert type(pair[1].spatial_hash) is ours.SpatialHash
    return pair, numbers


def assert_same_neighborhoods(pair, numbers, asking):
    rects = [arcade.LBWH(30.5, -20, 150, 90), arcade.LBWH(0, 0, 0, 0), arcade.LBWH(-1e5, -1e5, 2e5, 2e5)]
    rects = rects[: 3 if pair[0].spatial_hash.cell_size > 1000 else 2]
    points = [(10, 20), (-0.5, 63.9), (64, 64), (1e9, -5)]
    said = []
    for sprites in pair:
        hashed = sprites.spatial_hash
        found = [hashed.get_sprites_near_sprite(one) for one in asking]
        found += [hashed.get_sprites_near_point(point) for point in points]
        found += [hashed.get_sprites_near_rect(rect) for rect in rects]
        hits = [arcade.check_for_collision_with_list(one, sprites) for one in asking]
        hits += [ours.check_for_collision_with_list(one, sprites) for one in asking]
        hits += [arcade.get_sprites_at_point(point, sprites) for point in points]
        said.append([sorted(numbers[one] for one in some) for some in (*found, *hits)])
        assert hashed.count == len(sprites)
        assert all(type(some) is set for some in found)
    assert said[0] == said[1]


@pytest.mark.parametrize("cell_size", [7, 64, 5000])
@pytest.mark.parametrize("scene", [plain, turned, shaped])
def test_spatial_hash_gives_the_sets_of_arcade_while_sprites_move(scene, cell_size):
    pair, numbers = hashes(scene, 5, cell_size)
    asking = made(scene, 6, 5)
    assert_same_neighborhoods(pair, numbers, asking)
    changes = [
        lambda sprites: [setattr(one, "center_x", one.center_x + 3) for one in sprites[::2]],
        lambda sprites: [setattr(one, "position", (one.center_y, one.center_x)) for one in sprites[::3]],
        lambda sprites: [setattr(one, "scale", 2.5) for one in sprites[1::4]],
        lambda sprites: [setattr(one, "angle", one.angle + 30) for one in sprites if hasattr(one, "turn_left")],
        lambda sprites: sprites.remove(sprites[4]),
        lambda sprites: sprites.pop(),
        lambda sprites: sprites[2].kill(),
    ]
    for change in changes:
        for sprites in pair:
            change(sprites)
        assert_same_neighborhoods(pair, numbers, asking)
    for sprites in pair:
        sprites.spatial_hash.reset()
        assert sprites.spatial_hash.count == 0
        assert sprites.spatial_hash.get_sprites_near_sprite(asking[0]) == set()


def test_spatial_hash_of_wrong_sizes_and_unknown_sprites_raises_as_in_arcade():
    for size, error in ((0, ValueError), (-3, ValueError), (2.5, TypeError)):
        with pytest.raises(error):
            ours.SpatialHash(size)
    hashed = ours.SpatialHash(10)
    with pytest.raises(KeyError):
        hashed.move(made(plain)[0])
    with pytest.raises(KeyError):
        hashed.remove(made(plain)[0])


def test_sprite_that_moves_far_is_looked_at_once(monkeypatch):
    sprites = made(turned)
    ours.SpatialHash.of(sprites, 32)
    looks, look = [], HitBox.get_adjusted_points
    hit_box = sprites[0].hit_box
    monkeypatch.setattr(type(hit_box), "get_adjusted_points", lambda box: looks.append(box) or look(box))
    sprites[0].position = 900, 700
    assert looks == [hit_box]
    assert sprites[0] in sprites.spatial_hash.get_sprites_near_point((900, 700))


def test_spatial_hash_makes_no_cells_by_queries():
    hashed = ours.SpatialHash(10)
    hashed.get_sprites_near_rect(arcade.LBWH(0, 0, 10_000, 10_000))
    hashed.get_sprites_near_point((3, 3))
    assert hashed.contents == {}
