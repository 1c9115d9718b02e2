"""Links: the options in the address of the page, which open a scene with its settings."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import broadphase as bp
from broadphase.demo.scenes import SCENES, DemoScene
from broadphase.errors import quoted, unknown_name
from broadphase.methods import METHOD_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broadphase.demo.simulation import Simulation

__all__ = ["SIZES", "SPEEDS", "Link", "method_of", "read_link", "texts_of", "write_link"]

SIZES, SPEEDS = (0.1, 4.0), (0.0, 4.0)
_OPTIONS = ("scene", "method", "settings", "count", "size", "speed")
_DEPTHS = ("depth", "most_depth", "first_depth")  # settings of the linear tree
_DEEPEST_TABLE = 7  # levels of a table of all cells: 8 MB in space


@dataclass(frozen=True)
class Link:
    """What a link opens. The fields are those of `Simulation`."""

    scene: DemoScene
    method: str | bp.index.IndexOptions
    count: int
    size: float
    speed: float


def read_link(options: Mapping[str, str], simulation: Simulation) -> Link:
    """Check the options of an address. What is missing stays as it is, but a scene that is named has its own count.

    Raises ValueError for an option or a value that the demo does not know. Files cannot be named.
    """
    if options.keys() - set(_OPTIONS):
        raise ValueError(f"the address has options that the demo does not know; it knows {', '.join(_OPTIONS)}")
    scenes = {scene.name: scene for scene in SCENES}
    scene, count = simulation.scene, simulation.count
    if "scene" in options:
        scene = scenes.get(options["scene"], scene)
        if scene.name != options["scene"]:
            raise ValueError(unknown_name("scene", options["scene"], list(scenes)))
        count = count if scene.name == simulation.scene.name else scene.count
    method = simulation.method
    if "method" in options or "settings" in options:
        method = method_of(options.get("method", texts_of(method)[0]), options.get("settings", ""))
    return Link(
        scene,
        method,
        int(_number(options, "count", r"\d{1,7}", scene.counts, count)),
        _number(options, "size", r"\d(\.\d{1,3})?", SIZES, simulation.size),
        _number(options, "speed", r"\d(\.\d{1,3})?", SPEEDS, simulation.speed),
    )


def write_link(simulation: Simulation) -> str:
    """Return the options of an address, which `read_link` reads. A scene from a file is not named."""
    method, settings = texts_of(simulation.method)
    options: dict[str, str | float] = {"method": method}
    if simulation.scene in SCENES:
        options = {"scene": simulation.scene.name, "method": method, "count": simulation.count}
    if settings:
        options["settings"] = settings
    for name, value in (("size", simulation.size), ("speed", simulation.speed)):
        if value != 1.0:
            options[name] = f"{value:.3g}"
    return urlencode(options)


def texts_of(method: str | bp.index.IndexOptions) -> tuple[str, str]:
    """Return the name of a method and its settings as a text."""
    settings = bp.index.IndexOptions.of(method).describe()
    name = settings.pop("name")
    words = (f"{key}={one if isinstance(one, str) else json.dumps(one)}" for key, one in settings.items())
    return name, " ".join(words)


def method_of(name: str, settings: str) -> str | bp.index.IndexOptions:
    """Return a method with the settings of a text; ValueError if it has none such, or the demo does not offer them."""
    if name not in METHOD_NAMES:
        raise ValueError(unknown_name("method", name, METHOD_NAMES))
    texts = [text for text in re.split(r"\s+(?=\w+=)", settings.strip()) if text]
    if not texts:
        return name
    try:
        options = bp.index.IndexOptions.of(name).with_texts(texts)
    except TypeError as error:
        raise ValueError(str(error)) from None
    wanted = dict(options.settings)
    if "workers" in wanted or options.method != name:
        raise ValueError("the demo does not offer this setting")
    if wanted.get("storage") == "flat":
        deepest = max((one for key, one in wanted.items() if key in _DEPTHS and isinstance(one, int)), default=0)
        if deepest > _DEEPEST_TABLE:
            raise ValueError(f"the demo keeps tables of at most {_DEEPEST_TABLE} levels")
    return options


def _number(options: Mapping[str, str], name: str, form: str, limits: tuple[float, float], default: float) -> float:
    text = options.get(name)
    if text is None:
        return default
    low, high = limits
    if not re.fullmatch(form, text, re.ASCII) or not low <= float(text) <= high:
        raise ValueError(f"{name} must be a number from {low:,} to {high:,}, not {quoted(text)}")
    return float(text)
