"""Errors of scene files name the file, the table and the key."""

import contextlib
import tomllib

import pytest

import broadphase as bp
from broadphase import scenes
from broadphase.scenes.values import Table
from test_scenes import BALLS, GUN, parse

WRONG = {
    "dim = 2": ("dim = 4", "[world], dim: must be an integer from 2 to 3, not 4"),
    "bounds = [[0, 0], [100, 50]]": ("bounds = [[0, 0], [100]]", "[world], bounds: must be 2 numbers"),
    "[100, 50]]": ("[-1, 50]]", "[world], bounds: lower > upper, axis 0: 0 > -1"),
    'boundary = "bounce"': (
        'boundary = "bonce"',
        "[world]: unknown boundary 'bonce' (did you mean 'bounce'?)",
    ),
    "dt = 0.5": ("dt = nan", "[world], dt: must be a number, not nan"),
    "boundary = ": (
        'method = { name = "octree", leafs = 1 }\nboundary = ',
        "[world], method: Octree.options: unknown setting 'leafs'",
    ),
    "dim = 2\n": (
        'dim = 2\nmethod = { name = "octre" }\n',
        "[world], method: unknown name 'octre' (did you mean 'octree'?)",
    ),
    "steps = 20": ("steps = 2.5", "[world], steps: must be an integer from 0, not 2.5"),
    "seed = 3": ("sead = 3", "[world]: unknown key 'sead' (did you mean 'seed'?)"),
    'title = "Balls"': ("title = 5", "top level, title: must be a string, not 5"),
    "[world]": ("[wrold]", "top level, world: is missing (there is 'wrold')"),
    'name = "balls"\ncount = 40': (
        'name = "balls"\ncount = -1',
        "[[group]] 1 (balls), count: must be an integer from 0 to 10000000, not -1",
    ),
    'shape = { type = "circle"': (
        'shap = { type = "circle"',
        "[[group]] 1 (balls), shape: is missing (there is 'shap')",
    ),
    'type = "circle"': (
        'type = "cirkle"',
        "[[group]] 1 (balls), shape: unknown type 'cirkle' (did you mean 'circle'?)",
    ),
    '"circle", radius': (
        '"sphere", radius',
        "[[group]] 1 (balls), shape, type: a sphere cannot be in a world of dim = 2",
    ),
    "radius = {": ("raduis = {", "[[group]] 1 (balls), shape, radius: is missing (there is 'raduis')"),
    "{ from = 1, to = 3, skew = 2 }": (
        '"big"',
        "[[group]] 1 (balls), shape, radius: must be a number, or { from = ..., to = ... }, not 'big'",
    ),
    "from = 1, to = 3": ("from = 4, to = 3", "[[group]] 1 (balls), shape, radius, to: is less than from"),
    "{ from = 1,": ("{ from = -1,", "[[group]] 1 (balls), shape, radius: must be at least 0, not -1"),
    "skew = 2": ("skew = 0", "[[group]] 1 (balls), shape, radius, skew: must be an integer from 1 to 16, not 0"),
    "velocity = { from = -4, to = 4 }": ("velocity = [1, 2, 3]", "[[group]] 1 (balls), velocity: must be 2 numbers"),
    "to = 4 }": ("to = inf }", "[[group]] 1 (balls), velocity, to: must be 2 numbers"),
    'body_type = "static"': (
        'body_type = "statc"',
        "[[group]] 2 (walls): unknown body_type 'statc' (did you mean 'static'?)",
    ),
    'mask = ["balls"]': ('mask = ["bals"]', "[[group]] 2 (walls): unknown layer 'bals' (did you mean 'balls'?)"),
    'name = "walls"': ('name = "balls"', "[[group]] 2 (balls), name: another group has this name"),
    'how = "list", ': ("", "[[group]] 2 (walls), place: unknown key 'at'"),
    "at = [[2, 25], [98, 25]]": ("at = []", "[[group]] 2 (walls), place, at: must be a list of points"),
    "[98, 25]]": ("[98]]", "[[group]] 2 (walls), place, at: must be 2 numbers"),
    "height = 50 }": ("height = true }", "[[group]] 2 (walls), shape, height: must be a number"),
}


@pytest.mark.parametrize("part", WRONG)
def test_error_names_the_file_the_table_and_the_key(part):
    instead, message = WRONG[part]
    assert part in BALLS
    with pytest.raises(bp.errors.FileFormatError, match=r"^balls\.toml, ") as caught:
        parse(BALLS.replace(part, instead, 1))
    assert str(caught.value).startswith(f"balls.toml, {message}")


WRONG_RULES = {
    'emit = "bullets"': (
        'emit = "bulets"',
        "[[rule]] 1: unknown emit 'bulets' (did you mean 'bullets'?)",
    ),
    "interval = 2": ("interval = 0", "[[rule]] 1, interval: must be an integer from 1, not 0"),
    "stop = 8": ("end = 8", "[[rule]] 1: unknown key 'end'"),
    'remove = "bullets"': (
        'remove = ["bullets", 1]',
        "[[rule]] 2, remove: must be a string or a list of strings, not 1",
    ),
    'touching = "wall"': ("", "[[rule]] 2, touching: is missing"),
    'remove = "bullets"\n': ("", "[[rule]] 2: unknown key 'touching'"),
    "bullets = 5": ("bulets = 5", "[layers]: unknown key 'bulets' (did you mean 'bullets'?)"),
}


@pytest.mark.parametrize("part", WRONG_RULES)
def test_error_of_a_rule_names_it(part):
    instead, message = WRONG_RULES[part]
    assert part in GUN
    with pytest.raises(bp.errors.FileFormatError, match=r"^balls\.toml, ") as caught:
        parse(GUN.replace(part, instead, 1))
    assert str(caught.value).startswith(f"balls.toml, {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("group = 3", "top level, group: must be a list of tables: write [[group]], not 3"),
        ("group = [3]", "[[group]] 1: must be a table, not a number"),
        ("world = { dim = 2, budget = {} }", "[world], budget, seconds or tests: one of the two keys is required"),
        ("world = { dim = 2, budget = { seconds = 0 } }", "[world], budget, seconds: must be greater than 0"),
        ("world = { dim = 2, budget = 5 }", "[world], budget: must be a table, not a number"),
        ("world = { dim = 2, bounds = [[0, 0], [0, 9]] }", "[world], bounds: must not have zero size along an axis"),
        (
            "world = { dim = 2, bounds = [[0, 0], [1, 1]] }\ngroup = [{ layer = 'all', shape = { type = 'point' } }]",
            "[layers]: a layer cannot be named 'all'",
        ),
        ("world = []", "[world]: must be a table, not a list"),
        ('world = { dim = 2, boundary = "wrap" }', "[world], boundary: 'wrap' needs bounds"),
        ("world = { dim = 2 }\nlayers = { wall = 1 }", "[layers]: unknown key 'wall'"),
        ("world = { dim = 2 }\nrule = [{}]", "[[rule]] 1, emit or remove: one of the two keys is required"),
        (
            "world = { dim = 2 }\nrule = [{ remov = 'a' }]",
            "[[rule]] 1: unknown key 'remov' (did you mean 'remove'?)",
        ),
    ],
)
def test_other_forms_are_refused(text, message):
    text = text if "world" in text else "world = { dim = 2 }\n" + text
    with pytest.raises(bp.errors.FileFormatError, match=r"^balls\.toml, ") as caught:
        parse(text)
    assert str(caught.value).startswith(f"balls.toml, {message}")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.toml", b"[world", "a.toml: not TOML"),
        ("a.json", b"{", "a.json: not JSON"),
        ("a.json", b"\xff\xfe\xff", "a.json: not JSON"),
        ("a.json", b'{"world": ' * 200_000, "a.json: tables are nested too deeply"),
        ("a.json", b"[]", "a.json, top level: must be a table, not a list"),
        ("a.json", b'{"world": {"dim": 2, "dt": NaN}}', "a.json, [world], dt: must be a number, not nan"),
    ],
)
def test_load_unreadable_file_raises(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(bp.errors.FileFormatError, match=r"a\.") as caught:
        scenes.load(tmp_path / name)
    assert str(tmp_path / message) in str(caught.value)


def test_unknown_names_and_files_are_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match="did you mean 'bouncing_spheres'"):
        scenes.load("bouncing_sphere")
    with pytest.raises(FileNotFoundError):
        scenes.load(tmp_path / "none.toml")


def test_table_unknown_key_is_named():
    table = Table({"a": 1, "b": 2}, "x.toml", "[t]")
    assert table.integer("a") == 1
    with pytest.raises(bp.errors.FileFormatError, match=r"x\.toml, \[t\]: unknown key 'b': must be 'a'"):
        table.finish()


def places_in(value, path=()):
    """Walk through a file: the path of everything in it."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places_in(inner, (*path, key))


SPOILT = (None, True, -1, 0, 0.5, 1e308, float("nan"), 10**30, "", "all", "x", [], [[]], {}, {"from": 1}, [1, 2, 3])


@pytest.mark.parametrize("text", [BALLS, GUN], ids=["balls", "gun"])
def test_any_value_anywhere_is_run_or_refused_with_its_place(text):
    for path in places_in(tomllib.loads(text)):
        for spoilt in SPOILT:
            values = tomllib.loads(text)
            where = values
            for key in path[:-1]:
                where = where[key]
            if path:
                where[path[-1]] = spoilt
            else:
                values = spoilt
            scene = parsed_or_refused(values)
            if scene is not None and sum(group.count for group in scene.groups) < 1000:
                with contextlib.suppress(ValueError):  # sizes and speeds that no float64 holds
                    scene.run(2)


def parsed_or_refused(values):
    try:
        return scenes.parse(values, "a.toml")
    except bp.errors.FileFormatError as error:
        if not str(error).startswith("a.toml, "):
            raise AssertionError(f"no place in: {error}") from error
        return None
