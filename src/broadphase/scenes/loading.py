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
from broadphase.scenes.group import Group, read_group
from broadphase.scenes.placement import read_corners
from broadphase.scenes.rules import read_rule
from broadphase.scenes.scene import Scene
from broadphase.scenes.table import Table, did_you_mean

__all__ = ["NAMES", "load", "parse"]

NAMES = ("bouncing_rectangles", "bouncing_spheres", "crowd", "machine_gun")
"""The names of the bundled scenes."""

_BORDERS = ("none", "bounce", "wrap", "remove")


def load(path: str | os.PathLike[str]) -> Scene:
    """Read a scene.

    Parameters
    ----------
    path : path-like
        A .toml or .json file; or one of `NAMES`, for a bundled scene:

        - ``bouncing_rectangles``: 1000 rectangles of 10 by 10 in a square of 500, up to 5 per axis and step.
        - ``bouncing_spheres``: 300 spheres of radius 350 in a cube from -10 000 to 10 000.
        - ``crowd``: 3000 boxes in clusters, of sizes from 1 to 400, in a world without an end.
        - ``machine_gun``: a crowd in a walled hall, and a gun whose bullets go through it to the far wall.

    Returns
    -------
    Scene

    Raises
    ------
    ValueError
        Something is wrong with the file; names the file, the table and the key.
    FileNotFoundError
        Neither is there such a file, nor is a scene called so.

    Examples
    --------
    >>> from broadphase import scenes
    >>> scenes.load("bouncing_spheres").title
    '300 spheres bounce in a cube'
    """
    file = Path(path)
    if file.suffix.lower() in (".toml", ".json"):
        return parse(_read(file.read_bytes(), file.suffix.lower(), str(file)), str(file), file.stem)
    name = os.fspath(path)
    if name not in NAMES:
        hint = did_you_mean(name, NAMES)
        raise FileNotFoundError(f"{name}: neither a .toml or .json file, nor a bundled scene; {hint}")
    data = resources.files("broadphase.data").joinpath("scenes", f"{name}.toml").read_bytes()
    return parse(_read(data, ".toml", name), name, name)


def parse(values: dict[str, Any], source: str = "scene", name: str = "scene") -> Scene:
    """Make a scene of what a file has: a dict of dicts and lists.

    Parameters
    ----------
    values : dict
        The tables ``world``, ``layers``, ``group`` and ``rule``, and ``title``; see the page on scenes.
    source : str
        What error messages call it.
    name : str
        What the scene is called.

    Returns
    -------
    Scene

    Raises
    ------
    ValueError
        Something is wrong; names the source, the table and the key.

    Examples
    --------
    >>> from broadphase import scenes
    >>> balls = {"shape": {"type": "circle", "radius": 1}, "count": 5}
    >>> scenes.parse({"world": {"dim": 2}, "group": [balls]}, "balls")
    Traceback (most recent call last):
    ValueError: balls, [[group]] 1, place, in: is missing: two corners, as the world has no bounds
    """
    top = Table(values, source, "top level")
    title = top.text("title", name)
    world = Table(top.take("world"), source, "[world]")
    dimension = world.whole("dim", least=2, most=3)
    corners = world.take("bounds", None)
    bounds = None if corners is None else read_corners(world, "bounds", corners, dimension)
    if bounds is not None and any(low == high for low, high in zip(*bounds, strict=True)):
        raise world.wrong("bounds", "have no size along an axis")
    border = world.text("border", "none", choices=_BORDERS)
    if border != "none" and bounds is None:
        raise world.wrong("border", f"{border!r} needs bounds")
    method = world.text("method", "auto", choices=("auto", *(method.name for method in bp.METHODS)))
    dt, steps = world.number("dt", 1.0), world.whole("steps", 600)
    seed = world.whole("seed", 7, most=2**63 - 1)
    budget = _read_budget(world)
    world.finish()

    groups = tuple(read_group(table, number, dimension, bounds) for number, table in enumerate(top.tables("group"), 1))
    layers = _read_layers(Table(top.take("layers", {}), source, "[layers]"), groups)
    names = [group.name for group in groups]
    for number, group in enumerate(groups, 1):
        where = Table({}, source, f"[[group]] {number} ({group.name})")
        if names.index(group.name) != number - 1:
            raise where.wrong("name", "there is another group of this name")
        for layer in group.mask or ():
            if layer not in layers:
                raise where.wrong("mask", f"there is no layer {layer!r}; {did_you_mean(layer, layers)}")
    rules = tuple(read_rule(table, names, layers) for table in top.tables("rule"))
    top.finish()
    return Scene(name, title, dimension, bounds, border, method, dt, steps, seed, budget, layers, groups, rules)


def _read_budget(world: Table) -> bp.Budget | None:
    if "budget" not in world:
        return None
    table = world.table("budget")
    milliseconds, tests = table.number("milliseconds", math.inf), table.whole("tests", None, least=1)
    table.finish()
    if not milliseconds > 0:
        raise table.wrong("milliseconds", f"must be more than 0, not {milliseconds:g}")
    if milliseconds == math.inf and tests is None:
        raise table.wrong("tests or milliseconds", "one of them must say how much a step may do")
    return bp.Budget(milliseconds, tests)


def _read_layers(table: Table, groups: tuple[Group, ...]) -> dict[str, int]:
    """Give all layers with their priorities; those of the groups have priority 0 unless the table says more."""
    used = list(dict.fromkeys(group.layer for group in groups))
    layers = dict.fromkeys(used, 0)
    for layer in used:
        if layer == "all":
            raise ValueError(f"{table.source}, {table.name}: no layer can be called 'all', which stands for every one")
        layers[layer] = table.whole(layer, 0, least=-(2**31))
    table.finish()
    if len(layers) > 63:
        raise ValueError(f"{table.source}, {table.name}: {len(layers)} layers, and 63 are the most")
    return layers


def _read(data: bytes, ending: str, source: str) -> Any:
    try:
        text = data.decode("utf-8-sig")
        return tomllib.loads(text) if ending == ".toml" else json.loads(text)
    except RecursionError:
        raise ValueError(f"{source}: tables too deep within each other") from None
    except ValueError as error:  # of UTF-8, TOML and JSON alike
        kind = "TOML" if ending == ".toml" else "JSON"
        raise ValueError(f"{source}: not {kind}: {error}") from None
