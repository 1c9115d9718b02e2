"""Boxes of the features of geographic files: GeoPackage, Shapefile and FlatGeobuf, and GeoParquet."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from glob import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import FileFormatError, clipped, unknown_name
from broadphase.extras import import_extra
from broadphase.files import require_file, require_unicode
from broadphase.io.box_file import BoxFile
from broadphase.tables.names import find_name_column, listed

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["crs_name", "geometry_column", "read_features", "read_geometries"]

_BLANK = "a feature without coordinates"
_POLYGON = 3  # the number of GEOS for polygons; larger ones hold several geometries


def read_features(
    path: Path, *, parts: bool = False, name_column: str | None = None, layer: str | None = None
) -> BoxFile:
    """Read the box of each feature of a layer, in the coordinates of the file, as `geojson.read_geojson` does.

    The file is whatever GDAL reads. `layer` None: the only layer with geometries. pyogrio gives columns by pyarrow;
    shapely takes geometries apart.
    """
    pyogrio = import_extra("pyogrio", purpose=f"reading {path.suffix} files", extra="gis")
    import_extra("pyarrow", purpose=f"reading {path.suffix} files", extra="gis")  # by which pyogrio gives columns
    path.open("rb").close()  # so that a missing file is an OSError
    require_unicode(path, "GDAL")
    for beside in path.parent.glob(f"{escape(path.stem)}.*"):  # a Shapefile has several files
        require_file(beside, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            layer = _layer(pyogrio.list_layers(path).tolist(), layer)
            info = pyogrio.read_info(path, layer=layer)
            fields, crs = list(info["fields"]), crs_name(info["crs"])
            place = find_name_column(fields, name_column)
            names = None if place is None else _names(pyogrio, path, layer, fields[place])
            if not parts:
                bounds = np.ascontiguousarray(pyogrio.read_bounds(path, layer=layer)[1].T)
                if bounds.any(axis=1).all():
                    return replace(_file(bounds, path, names), crs=crs)
                # Either a point at the origin, or a geometry that is empty: GDAL gives the same bounds for both.
            meta, table = pyogrio.read_arrow(path, layer=layer, columns=[])
            column = table.column(meta["geometry_name"] or "wkb_geometry")
        except MemoryError as error:  # a damaged length, more likely than a file so large
            raise FileFormatError(f"{clipped(str(path))}: reading it takes more memory than there is") from error
        except Exception as error:  # damaged files make GDAL, and Arrow behind it, raise all kinds of exceptions
            raise FileFormatError(f"{clipped(str(path))}: {clipped(str(error))}") from error
    return replace(read_geometries(column, path, names, parts=parts), crs=crs)


def crs_name(given: Any) -> str | None:
    """Return the authority and the code of a coordinate system, from a name, a URN, or a dict of PROJJSON; or None.

    >>> crs_name("urn:ogc:def:crs:EPSG::32633"), crs_name("OGC:CRS84"), crs_name("LOCAL_CS[...]")
    ('EPSG:32633', 'EPSG:4326', None)
    """
    if isinstance(given, dict):
        known = given.get("id")
        given = f"{known.get('authority')}:{known.get('code')}" if isinstance(known, dict) else None
    found = re.search(r"(EPSG|ESRI|OGC):(?:[\d.]*:)?(\w+)$", given.upper()) if isinstance(given, str) else None
    if found is None:
        return None
    name = f"{found[1]}:{found[2]}"
    return "EPSG:4326" if name == "OGC:CRS84" else name  # files have longitude first in both


def _layer(known: list[list[Any]], wanted: str | None) -> str:
    layers = [str(name) for name, kind in known if kind is not None]
    if wanted is not None:
        if wanted not in layers:
            raise ValueError(unknown_name("layer", wanted, layers))
        return wanted
    if len(layers) != 1:
        raise ValueError(
            f"has several layers: {listed(layers)}; name one by layer=, or by FILE#{layers[0]} in the command"
            if layers
            else "has no layer with geometries"
        )
    return layers[0]


def _names(pyogrio: Any, path: Path, layer: str, field: str) -> NDArray[np.object_]:
    _, table = pyogrio.read_arrow(path, layer=layer, columns=[field], read_geometry=False)
    names: NDArray[np.object_] = table.column(field).cast("string").to_numpy(zero_copy_only=False).astype(object)
    return names


def _file(bounds: NDArray[Any], path: Path, names: NDArray[np.object_] | None) -> BoxFile:
    owners = np.arange(len(bounds), dtype=np.int64)
    return BoxFile(bounds.reshape(-1, 2, 2), str(path), "feature", names, owners, blank=_BLANK)


def _parts_of(column: Any, path: Path, names: NDArray[np.object_] | None) -> BoxFile:
    """Return the box of each part of geometries as WKB; a feature without any is a row of NaN."""
    shapely = import_extra("shapely", purpose="taking geometries apart", extra="gis")
    geometries = _geometries(shapely, column, path)
    pieces, owners = geometries, np.arange(len(geometries))
    while (shapely.get_type_id(pieces) > _POLYGON).any():  # collections may hold collections
        pieces, index = shapely.get_parts(pieces, return_index=True)
        owners = owners[index]
    has_points = ~(shapely.is_empty(pieces) | shapely.is_missing(pieces))
    pieces, owners = pieces[has_points], owners[has_points]
    blank = np.setdiff1d(np.arange(len(geometries)), owners)
    bounds = np.concatenate([shapely.bounds(pieces).reshape(-1, 4), np.full((len(blank), 4), np.nan)])
    owners = np.concatenate([owners, blank]).astype(np.int64)
    order = np.argsort(owners, kind="stable")
    owners, bounds = owners[order], bounds[order]
    known = None if names is None else names[owners]
    return BoxFile(bounds.reshape(-1, 2, 2), str(path), "feature part", known, owners, blank=_BLANK)


def geometry_column(schema: Any) -> tuple[str, str | None] | None:
    """Return the name of the main geometry column of a GeoParquet file, and that of its `crs`; None if it is none.

    ValueError if the metadata are damaged, or the geometries are not WKB.
    """
    text = (schema.metadata or {}).get(b"geo")
    if text is None:
        return None
    try:
        meta = json.loads(text)
        name = meta["primary_column"]
        encoding = meta["columns"][name]["encoding"]
        crs = crs_name(meta["columns"][name].get("crs", "OGC:CRS84"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the GeoParquet metadata are damaged ({type(error).__name__}: {error})") from error
    if encoding != "WKB":
        raise ValueError(f"column {clipped(name, 40)} holds geometries as {clipped(encoding, 40)}, not as WKB")
    if not isinstance(name, str) or name not in schema.names:
        raise ValueError(f"there is no column {clipped(name, 40)}, which the GeoParquet metadata name")
    return name, crs


def read_geometries(column: Any, path: Path, names: NDArray[np.object_] | None, *, parts: bool) -> BoxFile:
    """Read the box of each geometry of a column of WKB, or of each part of it; see `read_features`."""
    if parts:
        return _parts_of(column, path, names)
    shapely = import_extra("shapely", purpose="reading geometries", extra="gis")
    bounds = shapely.bounds(_geometries(shapely, column, path))
    return _file(bounds.reshape(-1, 4), path, names)


def _geometries(shapely: Any, column: Any, path: Path) -> Any:
    pyarrow = import_extra("pyarrow", purpose="reading geometries", extra="gis")
    try:
        return shapely.from_wkb(column.to_numpy(zero_copy_only=False).astype(object))
    except (shapely.GEOSException, pyarrow.ArrowException) as error:
        raise FileFormatError(f"{clipped(str(path))}: {clipped(str(error))}") from error
