"""Layers by name: bits in order of first use, masks in every form, priorities, and what is refused."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.world.layers import ALL_BITS, Layers
from query_cases import arguments_of


def test_layers_names_get_bits_in_order_of_first_use():
    layers = Layers()
    assert layers.add("ball") == 2
    layers = layers.with_names({"wall", "ball", "ant"})
    assert layers.bits({"wall", "ball", "ant"}) == 2 | 4 | 8
    assert layers.names == ("default", "ball", "ant", "wall")  # of one set, in the order of the alphabet
    assert layers.add("ball") == 2


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        ("ball", 2),
        ({"ball", "default"}, 3),
        (frozenset(), 0),
        ("all", ALL_BITS),
        (5, 5),
        (-1, ALL_BITS),
        (1 << 63, 1 << 63),
        (np.uint64(7), 7),
        ({"ball", 8}, 10),
    ],
)
def test_layers_bits_of_every_form(value, bits):
    layers = Layers()
    layers.add("ball")
    assert layers.bits(value) == bits
    assert layers.bits_of_rows(value, 3, "layer").tolist() == [bits] * 3


@pytest.mark.parametrize("values", [["ball", "wall", {"ball", "wall"}], np.array([2, 4, 6]), [2, "wall", 6]])
def test_layers_bits_of_rows_one_each(values):
    layers = Layers()
    layers.add("ball")
    layers.add("wall")
    assert layers.bits_of_rows(values, 3, "mask").tolist() == [2, 4, 6]


def test_layers_not_given_are_default_and_all():
    layers = Layers()
    assert layers.bits_of_rows(None, 2, "layer").tolist() == [1, 1]
    assert layers.bits_of_rows(None, 2, "mask").tolist() == [ALL_BITS] * 2
    assert layers.bits_of_queries(None, 2, "layer").tolist() == [ALL_BITS] * 2


def test_layers_used_up_raise_and_nothing_changes():
    layers = Layers()
    for number in range(63):
        layers.add(f"layer {number}")
    with pytest.raises(ValueError, match="all 64 have names"):
        layers.add("one too many")
    assert len(layers.names) == 64
    assert layers.add("layer 62") == 1 << 63


def test_layers_unknown_in_a_query_are_an_error_that_suggests_the_nearest():
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(0, 0), layer="ball")
    with pytest.raises(ValueError, match=r"mask: unknown layer 'bal' \(did you mean 'ball'\?\)"):
        world.query([[0, 0, 1, 1]], mask="bal")
    assert world.layer("wall") == 4  # a query declares none


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("", ValueError),
        (1.5, TypeError),
        (None, TypeError),
        (1 << 64, ValueError),
        (True, TypeError),
        (["a", "b"], ValueError),
        (["default", "a", "default"], ValueError),
    ],
)
def test_layers_refuse(value, error):
    with pytest.raises(error):
        Layers().bits_of_rows(value, 3, "layer") if value is not None else Layers().bits(value)


def test_layers_priority_is_that_of_the_most_urgent_layer():
    layers = Layers()
    layers.add("player", priority=5)
    layers.add("dust", priority=-3)
    layers.add("player")
    ranks = layers.ranks()
    assert ranks[:4].tolist() == [1, 2, 0, 255]
    assert ranks[64:].tolist() == [1, 3]


def test_layers_state_makes_the_same_layers():
    layers = Layers()
    layers.add("player", priority=5)
    assert Layers.from_state(layers.state()).state() == layers.state()


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"names": ["ball"], "priorities": [0]},
        {"names": ["default", "a", "a"], "priorities": [0, 0, 0]},
        {"names": ["default"], "priorities": []},
        {"names": ["default", 3], "priorities": [0, 0]},
        {"names": ["default", "all"], "priorities": [0, 0]},
        {"names": ["default", "a"], "priorities": [0, "high"]},
    ],
)
def test_layers_state_damaged_raises(state):
    with pytest.raises(ValueError, match="layer"):
        Layers.from_state(state)


@pytest.mark.parametrize("bits", ["default", {"ball", "wall"}, "all", 1 << 50, 0])
def test_layers_describe_undoes_bits(bits):
    layers = Layers().with_names({"ball", "wall"})
    assert layers.bits(layers.describe(layers.bits(bits))) == layers.bits(bits)


def test_layers_decide_who_touches():
    world = bp.World(dim=2)
    world.layer("wall")
    world.add(bp.Circle(1), position=(0, 0), layer="ball", mask="wall")
    world.add(bp.Circle(1), position=(0, 0), layer="ball", mask={"wall", "ball"})
    world.add(bp.Circle(1), position=(0, 0), layer="wall")
    world.add(bp.Circle(1), position=(0, 0))
    # Balls of row 0 want only walls; what has no layer is in none of those named.
    assert world.step().enter.tolist() == [[0, 2], [1, 2], [2, 3]]


def test_rows_in_layer_are_those_of_any_of_the_names_or_bits():
    world = bp.World(dim=2)
    layers = ["enemy", "coin", {"enemy", "coin"}, "wall", "enemy"]
    world.add_many(bp.Circle(1), np.zeros((5, 2)), layer=layers)
    world.remove(4)
    assert world.rows_in_layer("enemy").tolist() == [0, 2]
    assert world.rows_in_layer({"coin", "wall"}).tolist() == [1, 2, 3]
    assert world.rows_in_layer(world.layer("wall")).tolist() == [3]
    assert world.rows_in_layer("all").tolist() == world.rows_in_layer(-1).tolist() == [0, 1, 2, 3]
    assert world.rows_in_layer("default").tolist() == world.rows_in_layer(0).tolist() == []
    assert world.rows_in_layer("coin").dtype == np.int32
    world.rows_in_layer("coin")[:] = 7  # a new array
    assert world.rows_in_layer("coin").tolist() == [1, 2]
    with pytest.raises(ValueError, match="unknown layer 'enmy'"):
        world.rows_in_layer("enmy")
    with pytest.raises(TypeError, match=r"layer must be a layer's name, a set of names or an integer, not \['enemy'\]"):
        world.rows_in_layer(["enemy"])


def test_rows_in_layer_of_a_world_without_layers_and_of_an_empty_one():
    world = bp.World(dim=2)
    assert world.rows_in_layer("default").tolist() == []
    world.add_many(bp.Circle(1), np.zeros((3, 2)))
    world.layer("ball")
    assert world.rows_in_layer("default").tolist() == [0, 1, 2]
    assert world.rows_in_layer("ball").tolist() == []


# The queries that all indexes have, and those that only worlds have.
AT_THE_ORIGIN = arguments_of(np.array([[[-1.0, -1.0], [1.0, 1.0]]]), np.array([[2.0, 2.0]])) | {
    "query_shape": {"shape": bp.Circle(1), "positions": [[0, 0]]},
    "shapecast": {"shape": bp.Circle(1), "positions": [[-5, 0]], "motions": [[9, 0]]},
    "visible": {"planes": [[1.0, 0.0, 5.0]]},
}


@pytest.mark.parametrize("query", AT_THE_ORIGIN)
@pytest.mark.parametrize(
    ("options", "is_hidden"), [({"mask": 0}, True), ({"layer": 0}, True), ({"group": -1}, False)], ids=str
)
def test_body_of_no_mask_is_hidden_from_queries_and_one_of_a_negative_group_is_not(query, options, is_hidden):
    """As docs/games.md and docs/world.md say."""
    world = bp.World(dim=2)
    world.add_many(bp.Circle(2), [[0, 0], [0, 0]], **options)
    answer = getattr(world, query)(**AT_THE_ORIGIN[query])
    found = set(np.flatnonzero(answer)) if query == "raycast_any" else set(np.ravel(answer.rows).tolist()) - {-1}
    assert found <= {0, 1}
    assert bool(found) is not is_hidden
    assert world.step().pairs.tolist() == []


@pytest.mark.parametrize("removed", [0, 7])
@pytest.mark.parametrize("with_groups", [False, True])
def test_bodies_that_masks_keep_from_all_others_change_no_events(with_groups, removed):
    rng = np.random.default_rng(removed)
    world = bp.World(dim=2)
    n, zones = 60, 12
    layer = np.concatenate([rng.choice([1, 2, 4], n), rng.choice([8, 16, 1], zones)]).astype(np.uint64)
    mask = np.concatenate([rng.choice([1, 3, 7], n), rng.choice([8, 16, 9], zones)]).astype(np.uint64)
    group = (
        np.concatenate([rng.choice([0, 0, 5], n), rng.choice([0, 5, -5], zones)])
        if with_groups
        else np.zeros(n + zones)
    )
    is_static = np.concatenate([np.zeros(n, bool), rng.random(zones) < 0.6])
    places, sizes = rng.random((n + zones, 2)), np.where(np.arange(n + zones) < n, 0.05, 2.0)
    velocities = np.where(is_static[:, None], 0.0, rng.normal(size=(n + zones, 2)))
    rows = world.add_many(
        [bp.Circle(size) for size in sizes], places, velocities=velocities, layer=layer, mask=mask,
        group=group.astype(np.int64), body_type=np.where(is_static, "static", "dynamic"),
    )  # fmt: skip
    gone = rng.permutation(n)[:removed]
    if removed:
        world.remove(rows[gone])
    alive = np.ones(n + zones, bool)
    alive[gone] = False
    for _ in range(8):
        frame = world.step(0.02)
        places = places + velocities * 0.02
        wanted = [
            [i, j]
            for i, j in zip(*np.triu_indices(n + zones, 1), strict=True)
            if alive[i] and alive[j] and not (is_static[i] and is_static[j])
            and np.linalg.norm(places[i] - places[j]) <= sizes[i] + sizes[j]
            and (group[i] > 0 if group[i] == group[j] != 0 else layer[i] & mask[j] and layer[j] & mask[i])
        ]  # fmt: skip
        assert frame.pairs.tolist() == wanted
    assert len(wanted) > 10
