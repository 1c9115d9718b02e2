"""Boxes of the features of a GeoJSON file (RFC 7946)."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import FileFormatError
from broadphase.io.box_file import BoxFile
from broadphase.io.features import crs_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


_DEPTH = {"Point": 0, "MultiPoint": 1, "LineString": 1, "MultiLineString": 2, "Polygon": 2, "MultiPolygon": 3}
_NAMES = ("name", "NAME", "Name", "label", "id")
_EMPTY = (math.nan, math.nan, math.nan, math.nan)
_Box = tuple[float, float, float, float]


def read_geojson(path: Path, *, parts: bool = False, name_property: str | None = None) -> BoxFile:
    """Read the box of each feature, in longitude and latitude (or whatever plane the file is in).

    Altitudes and `bbox` members are ignored. A feature that crosses the 180th meridian in one piece has a box that
    goes around the world; RFC 7946 asks for such features to be cut in two, and with `parts` each half has its own box.
    A feature without coordinates is a row of NaN. Errors name the line or the row.
    """
    with _naming(path, lambda: ""), path.open(encoding="utf-8-sig") as stream:
        document = json.load(stream, parse_constant=_refuse_constant)
        features = _features_of(document)
    crs = document.get("crs")  # no longer in the standard, but written by GDAL; without it any coordinates are found
    named = crs.get("properties") if isinstance(crs, dict) else None
    name = crs_name(named.get("name")) if isinstance(named, dict) else None
    return replace(_file_of(features, path, parts, name_property), crs=name)


def read_geojson_lines(path: Path, *, parts: bool = False, name_property: str | None = None) -> BoxFile:
    """Read features, one on each line (RFC 8142, with record separators or without); see `read_geojson`."""
    features = []
    number = 0
    with _naming(path, lambda: f", line {number}"), path.open(encoding="utf-8-sig") as stream:
        for line in stream:
            number += 1
            text = line.strip("\x1e \t\r\n")
            if text:
                features += _features_of(json.loads(text, parse_constant=_refuse_constant))
    return _file_of(features, path, parts, name_property)


@contextmanager
def _naming(path: Path, place: Callable[[], str]) -> Iterator[None]:
    """Make errors name the file, and the line."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: not UTF-8 text (byte {error.start}: {error.reason})") from error
    except RecursionError:
        raise FileFormatError(f"{path}{place()}: nested too deeply") from None
    except json.JSONDecodeError as error:
        where = place() or f", line {error.lineno}"
        raise FileFormatError(f"{path}{where}: not JSON ({error.msg})") from error
    except ValueError as error:
        raise FileFormatError(f"{path}{place()}: {error}") from error


def _file_of(features: list[Any], path: Path, parts: bool, name_property: str | None) -> BoxFile:
    boxes: list[_Box] = []
    names: list[str | None] = []
    owners: list[int] = []
    for number, feature in enumerate(features):
        try:
            name = _name_of(feature, name_property)
            found = list(_boxes_of(feature["geometry"])) or [_EMPTY]
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            which = "feature" if parts else "row"
            raise FileFormatError(f"{path}, {which} {number}: {_explain(error)}") from error
        if not parts:
            found = [_around(found)]
        boxes += found
        names += [name] * len(found)
        owners += [number] * len(found)
    corners = np.array(boxes, dtype=np.float64).reshape(len(boxes), 2, 2)
    known = np.array(names, dtype=object) if any(name is not None for name in names) else None
    row_type = "feature part" if parts else "feature"
    return BoxFile(
        corners, str(path), row_type, known, np.array(owners, np.int64), blank="a feature without coordinates"
    )


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _features_of(document: Any) -> list[Any]:
    found = document.get("type") if isinstance(document, dict) else None
    if not isinstance(found, str):
        found = None
    if found == "FeatureCollection":
        features = document.get("features")
        if isinstance(features, list):
            return features
        raise ValueError("the FeatureCollection has no list 'features'")
    if found == "Feature":
        return [document]
    if found in _DEPTH or found == "GeometryCollection":
        return [{"geometry": document}]
    if found == "Topology":
        raise ValueError("this is TopoJSON; convert it to GeoJSON first")
    raise ValueError("not GeoJSON: the top level must be a FeatureCollection, a Feature or a geometry")


def _name_of(feature: Any, wanted: str | None) -> str | None:
    properties = feature.get("properties") or {}
    if wanted is not None:
        value = properties.get(wanted)
    else:
        value = next((properties[key] for key in _NAMES if properties.get(key) is not None), feature.get("id"))
    return None if value is None else str(value)


def _boxes_of(geometry: Any) -> Iterator[_Box]:
    """Yield the box of each part of a geometry that has coordinates."""
    waiting = [geometry]
    while waiting:
        one = waiting.pop()
        if one is None:
            continue
        geometry_type = one["type"]
        if geometry_type == "GeometryCollection":
            waiting += reversed(one["geometries"])
            continue
        if geometry_type not in _DEPTH:
            raise ValueError(f"unknown geometry {geometry_type!r:.40}")
        several = geometry_type.startswith("Multi")
        for part in one["coordinates"] if several else [one["coordinates"]]:
            if part:
                yield _box_of(part, _DEPTH[geometry_type] - several)


def _box_of(coordinates: Any, depth: int) -> _Box:
    if depth > 1:
        return _around([_box_of(member, depth - 1) for member in coordinates if member])
    points = [coordinates] if depth == 0 else coordinates
    xs, ys = list(zip(*points, strict=False))[:2]  # a point may have an altitude or not
    if not {*map(type, xs), *map(type, ys)} <= {int, float}:  # True is no number here
        raise TypeError("coordinates must be numbers")
    box = float(min(xs)), float(min(ys)), float(max(xs)), float(max(ys))
    if not all(map(math.isfinite, box)):  # 1e999
        raise ValueError("coordinates must be finite")
    return box


def _around(boxes: list[_Box]) -> _Box:
    boxes = [box for box in boxes if not math.isnan(box[0])]
    if len(boxes) < 2:
        return boxes[0] if boxes else _EMPTY
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def _explain(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"lacks {error}"
    if isinstance(error, ValueError) and str(error).startswith("unknown"):
        return str(error)
    return "coordinates must be lists of finite numbers, two or more for each point"
