"""Read scenes from files, and the bundled ones by name."""

from __future__ import annotations

import json
import math
import os
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import broadphase as bp
from broadphase.errors import FileFormatError, quoted, unknown_name
from broadphase.files import require_file
from broadphase.methods import METHOD_NAMES
from broadphase.scenes.groups import MOST_BODIES, Group, read_corners, read_group
from broadphase.scenes.rules import read_rule
from broadphase.scenes.scene import Scene
from broadphase.scenes.values import Table

__all__ = ["NAMES", "load", "parse"]


NAMES = ("bouncing_rectangles", "bouncing_spheres", "crowd", "machine_gun")
"""The names of the bundled scenes."""
_BOUNDARIES = ("none", "bounce", "wrap", "remove")


def load(path: str | os.PathLike[str]) -> Scene:
    """Read a scene.

    Parameters
    ----------
    path : path-like
        A .toml or .json file; or one of `NAMES`, for a bundled scene:

        - ``bouncing_rectangles``: 1000 rectangles of 10 by 10 in a square of 500, up to 5 per axis and step.
        - ``bouncing_spheres``: 300 spheres of radius 350 in a cube from -10 000 to 10 000.
        - ``crowd``: 3000 boxes in clusters, of sizes from 1 to 400, in an unbounded world.
        - ``machine_gun``: a crowd in a walled hall, and a gun that shoots through it at the far wall.

    Returns
    -------
    Scene

    Raises
    ------
    FileFormatError, FileNotFoundError
        The file is wrong: names the file, the table and the key; a `ValueError`. There is no such file or bundled
        scene.

    Examples
    --------
    >>> from broadphase import scenes
    >>> scenes.load("bouncing_spheres").title
    '300 spheres bounce in a cube'
    """
    file = Path(path)
    if file.suffix.lower() in (".toml", ".json"):
        require_file(file)
        return parse(_read(file.read_bytes(), file.suffix.lower(), str(file)), str(file), file.stem)
    name = os.fspath(path)
    if name not in NAMES:
        raise FileNotFoundError(f"{unknown_name('scene', name, NAMES)}, or the name of a .toml or .json file")
    data = resources.files("broadphase.data").joinpath("scenes", f"{name}.toml").read_bytes()
    return parse(_read(data, ".toml", name), name, name)


def parse(values: dict[str, Any], source: str = "scene", name: str = "scene") -> Scene:
    """Make a scene from the content of a file: a dict of dicts and lists.

    Parameters
    ----------
    values : dict
        The tables ``world``, ``layers``, ``group`` and ``rule``, and ``title``; see the page on scenes.
    source : str
        Name for messages.
    name : str
        Name of the scene.

    Returns
    -------
    Scene

    Raises
    ------
    FileFormatError
        A key is wrong; names the source, the table and the key. A `ValueError`.

    Examples
    --------
    >>> from broadphase import scenes
    >>> balls = {"shape": {"type": "circle", "radius": 1}, "count": 5}
    >>> scenes.parse({"world": {"dim": 2}, "group": [balls]}, "balls")
    Traceback (most recent call last):
    broadphase.errors.FileFormatError: balls, [[group]] 1, place, in: is missing: ...
    """
    top = Table(values, source, "top level")
    title = top.string("title", name)
    world = Table(top.take("world"), source, "[world]")
    dim = world.integer("dim", least=2, most=3)
    corners = world.take("bounds", None)
    bounds = None if corners is None else read_corners(world, "bounds", corners, dim)
    if bounds is not None and any(low == high for low, high in zip(*bounds, strict=True)):
        raise world.wrong("bounds", "must not have zero size along an axis")
    boundary = world.string("boundary", "none", choices=_BOUNDARIES)
    if boundary != "none" and bounds is None:
        raise world.wrong("boundary", f"{quoted(boundary)} needs bounds")
    method = _read_method(world, dim, bounds, boundary)
    dt, steps = world.number("dt", 1.0), world.integer("steps", 600)
    seed = world.integer("seed", 7, most=2**63 - 1)
    budget = _read_budget(world)
    world.finish()

    groups = tuple(read_group(table, number, dim, bounds) for number, table in enumerate(top.tables("group"), 1))
    total = sum(group.count for group in groups)
    if total > MOST_BODIES:
        raise FileFormatError(f"{source}: {total:,} bodies; a scene file may have at most {MOST_BODIES:,}")
    layers = _read_layers(Table(top.take("layers", {}), source, "[layers]"), groups)
    names = [group.name for group in groups]
    for number, group in enumerate(groups, 1):
        where = Table({}, source, f"[[group]] {number} ({group.name})")
        if names.index(group.name) != number - 1:
            raise where.wrong("name", "another group has this name")
        for layer in group.mask or ():
            if layer not in layers:
                raise where.unknown("layer", layer, layers)
    rules = tuple(read_rule(table, names, layers) for table in top.tables("rule"))
    top.finish()
    return Scene(name, title, dim, bounds, boundary, method, dt, steps, seed, budget, layers, groups, rules)


def _read_method(world: Table, dim: int, bounds: Any, boundary: Any) -> str | bp.index.IndexOptions:
    """Read the name of a method, or a table of its name and its settings."""
    value = world.take("method", "auto")
    if not isinstance(value, dict):
        return world.string("method", "auto", choices=METHOD_NAMES)
    Table(value, world.source, f"{world.name}, method").string("name", choices=METHOD_NAMES)
    try:
        options = bp.index.IndexOptions.of(value)
        bp.World(dim, method=options, bounds=bounds, boundary=boundary)  # raises where they do not fit
    except (ValueError, TypeError) as error:
        raise world.wrong("method", str(error)) from None
    return options


def _read_budget(world: Table) -> bp.Budget | None:
    if "budget" not in world:
        return None
    table = world.table("budget")
    seconds, tests = table.number("seconds", math.inf), table.integer("tests", None, least=1)
    table.finish()
    if not seconds > 0:
        raise table.wrong("seconds", f"must be greater than 0, not {seconds:g}")
    if seconds == math.inf and tests is None:
        raise table.wrong("seconds or tests", "one of the two keys is required")
    return bp.Budget(seconds, tests)


def _read_layers(table: Table, groups: tuple[Group, ...]) -> dict[str, int]:
    """Return the priority of each layer of the groups: 0, or the value in the table."""
    used = list(dict.fromkeys(group.layer for group in groups))
    layers = dict.fromkeys(used, 0)
    for layer in used:
        if layer == "all":
            raise FileFormatError(
                f"{table.source}, {table.name}: a layer cannot be named 'all', which means every layer"
            )
        layers[layer] = table.integer(layer, 0, least=-(2**31))
    table.finish()
    if len(layers) > 63:
        raise FileFormatError(f"{table.source}, {table.name}: {len(layers)} layers; at most 63 are possible")
    return layers


def _read(data: bytes, ending: str, source: str) -> Any:
    try:
        text = data.decode("utf-8-sig")
        return tomllib.loads(text) if ending == ".toml" else json.loads(text)
    except RecursionError:
        raise FileFormatError(f"{source}: tables are nested too deeply") from None
    except ValueError as error:  # of UTF-8, TOML and JSON alike
        language = "TOML" if ending == ".toml" else "JSON"
        raise FileFormatError(f"{source}: not {language}: {error}") from None
