"""Boxes from a file of any known format."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from broadphase.boxes import as_boxes
from broadphase.errors import FileFormatError, clipped, quoted, unknown_name
from broadphase.files import path_of, require_file
from broadphase.io.box_file import BoxFile, naming_damage
from broadphase.io.features import read_features
from broadphase.io.geojson import read_geojson, read_geojson_lines
from broadphase.io.ifc import read_product_boxes
from broadphase.io.meshes import part_type_of, read_mesh
from broadphase.io.tables import read_csv, read_parquet
from broadphase.progress import Progress, reporting
from broadphase.tables.names import listed

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from broadphase.mesh_formats import PartKind


Format = Literal["npy", "npz", "csv", "parquet", "geojson", "geojsonseq", "features", "mesh", "ifc"]
"""What `read_boxes` can read."""

_ARRAYS = (("boxes",), ("lower", "upper"), ("lo", "hi"))
_MOST_DEFLATED = 1100  # times: more than deflate can make of anything
_WANTED = frozenset(key for form in _ARRAYS for key in form)


def read_npy(path: Path) -> BoxFile:
    """Read an .npy file that holds an array of boxes."""
    with path.open("rb") as stream:
        if stream.read(6) != b"\x93NUMPY":
            raise FileFormatError(f"{path}: not a .npy file")
        stream.seek(0)
        with naming_damage(path, ".npy"):  # a header makes NumPy fail in many ways, among them tokenize.TokenError
            _check_size(stream, path.stat().st_size)
            stream.seek(0)
            array = np.lib.format.read_array(stream, allow_pickle=False)
    return BoxFile(_as_boxes(array, path), str(path), "array row", blank="NaN in the array")


def read_npz(path: Path) -> BoxFile:
    """Read an .npz file: the array ``boxes``, ``lower`` and ``upper``, or ``lo`` and ``hi``; optionally ``names``."""
    with path.open("rb") as stream, naming_damage(path, ".npz"):
        with zipfile.ZipFile(stream) as archive:
            keys = [name.removesuffix(".npy") for name in archive.namelist()]
            for member in archive.infolist():
                if member.filename.removesuffix(".npy") in {*_WANTED, "names"}:
                    # Those of other methods give as much as they like at the first read.
                    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                        raise ValueError(f"{member.filename} is compressed as NumPy does not do it")
                    size = min(member.file_size, _MOST_DEFLATED * path.stat().st_size)
                    with archive.open(member) as content:
                        _check_size(content, size)
        twice = sorted(key for key in {*_WANTED, "names"} if keys.count(key) > 1)
        if twice:
            raise ValueError(f"there are several arrays {twice[0]}")
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as arrays:
            found = {key: arrays[key] for key in keys if key in _WANTED}
            names = arrays["names"] if "names" in keys else None
    array = _as_boxes(_boxes_of(found, keys, path), path)
    if names is not None:
        if names.shape != (len(array),):
            raise FileFormatError(f"{path}: names must have shape ({len(array)},), one for each box, not {names.shape}")
        names = names.astype(str).astype(object)
    return BoxFile(array, str(path), "array row", names, blank="NaN in the array")


def _check_size(stream: Any, size: int) -> None:
    """Raise ValueError if an array is larger than a file of so many bytes: NumPy allocates it before it reads."""
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    needed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or (needed > size and not dtype.hasobject):
        raise ValueError(f"an array of shape {shape} and {dtype} needs {needed} bytes, more than there are")


def _boxes_of(arrays: dict[str, Any], keys: list[str], path: Path) -> Any:
    forms = [form for form in _ARRAYS if all(key in arrays for key in form)]
    if len(forms) > 1:
        first, second = (" and ".join(form) for form in forms[:2])
        raise FileFormatError(f"{path}: the boxes have two names: arrays {first}, and {second}")
    if forms:
        found = tuple(arrays[key] for key in forms[0])
        return found if len(found) > 1 else found[0]
    raise FileFormatError(
        f"{path}: needs an array boxes, or lower and upper, or lo and hi; has {listed(keys) or 'none'}"
    )


def _as_boxes(array: Any, path: Path) -> Any:
    try:
        return as_boxes(array, name=f"{path}: the array")
    except (TypeError, ValueError) as error:
        raise FileFormatError(str(error)) from error


_READERS: dict[Format, Callable[[Path, Any, str | None, str | None], BoxFile]] = {
    "npy": lambda path, parts, names, layer: read_npy(path),
    "npz": lambda path, parts, names, layer: read_npz(path),
    "csv": lambda path, parts, names, layer: read_csv(path, name_column=names),
    "parquet": lambda path, parts, names, layer: read_parquet(path, parts=parts, name_column=names),
    "geojson": lambda path, parts, names, layer: read_geojson(path, parts=parts, name_property=names),
    "geojsonseq": lambda path, parts, names, layer: read_geojson_lines(path, parts=parts, name_property=names),
    "features": lambda path, parts, names, layer: read_features(path, parts=parts, name_column=names, layer=layer),
    "mesh": lambda path, parts, names, layer: read_mesh(path, parts=parts),
}
_FORMATS = (*_READERS, "ifc")
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        ".npy": "npy",
        ".npz": "npz",
        ".csv": "csv",
        ".tsv": "csv",
        ".parquet": "parquet",
        ".geojson": "geojson",
        ".json": "geojson",
        ".geojsonl": "geojsonseq",
        ".geojsons": "geojsonseq",
        ".ndjson": "geojsonseq",
        ".jsonl": "geojsonseq",
        ".gpkg": "features",
        ".shp": "features",
        ".fgb": "features",
        ".obj": "mesh",
        ".stl": "mesh",
        ".ply": "mesh",
        ".glb": "mesh",
        ".gltf": "mesh",
        ".off": "mesh",
        ".3mf": "mesh",
        ".dae": "mesh",
        ".step": "mesh",
        ".stp": "mesh",
        ".ifc": "ifc",
    }
)
"""The format of each file name ending."""


def read_boxes(
    path: str | os.PathLike[str],
    *,
    format: Format | None = None,
    parts: bool | PartKind = False,
    name_column: str | None = None,
    layer: str | None = None,
    progress: Progress = None,
) -> BoxFile:
    r"""Read the boxes of a file.

    Only shapes and types are checked here; empty cells become NaN. So ``pairs(file.boxes, invalid="skip")`` leaves such
    rows out, and ``invalid="raise"`` names the first.

    Parameters
    ----------
    path : path-like
        A file of one of these formats:

        - .npy: one array, (n, 2, d) or (n, 2*d); .npz: the array ``boxes``, or ``lower`` and ``upper``, or ``lo`` and
          ``hi``, and optionally ``names``.
        - .csv, .tsv, .parquet: columns such as ``xmin, ymin, xmax, ymax`` (also ``min_x``, ``lower_x``, ``x0`` and
          ``x1``, ``west``...; capitals do not matter); .csv also without a header, 2*d numbers in a row; .parquet also
          with the corners in one struct column, ``bbox``, or GeoParquet: the boxes of its geometries.
        - .geojson, .json; .geojsonl, .geojsons, .ndjson, .jsonl with a feature on each line; .gpkg, .shp, .fgb: the box
          (such as longitude, latitude) of each feature.
        - .obj, .stl, .ply, .off, .glb, .gltf, .dae, .3mf, .step, .stp: the box of each triangle.
        - .ifc: the box of each product, in metres.
    format : {"npy", "npz", "csv", "parquet", "geojson", "geojsonseq", "features", "mesh", "ifc"}, optional
        Default: as the file name ending says.
    parts : bool, or one of "object", "group", "material", "mesh", "connected"
        Features: one box for each polygon, line or point of one that has several. Meshes: one box for each part, as of
        `read_parts`; True is "object" or, if there is but one of these, "connected". Default: False.
    name_column : str, optional
        The column or property that names the boxes. Default: ``name``, ``label`` or ``id``, if there is one.
    layer : str, optional
        .gpkg: the layer to read. Default: the only one with geometries.
    progress : bool or callable, optional
        As in `read_parts`.

    Returns
    -------
    BoxFile
        With ``.boxes``, shape (n, 2, d), float32 or float64.

    Raises
    ------
    FileFormatError
        The file name ending is unknown, the file is damaged or has no boxes, or a cell is not a number; names file, row
        and column. A `ValueError`.
    ValueError
        `format` or `parts` is unknown, or the format has no such parts.
    OSError
        The file cannot be read.
    MissingExtraError
        .parquet without pyarrow, .ply without trimesh, .gpkg, .shp or .fgb without pyogrio, .ifc without
        ifcopenshell, glTF compressed by Draco without DracoPy. (.csv is faster with pyarrow, but does not need it.)

    Warns
    -----
    PartialFileWarning
        A mesh file has geometry that is not read, such as lines; see `read_parts`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "boxes.csv")
    >>> _ = path.write_text("name,xmin,ymin,xmax,ymax\nred,0,0,2,2\nblue,1,1,3,3\n")
    >>> file = read_boxes(path)
    >>> file.boxes.shape, file.names[1]
    ((2, 2, 2), 'blue')
    """
    path = path_of(path)
    if name_column is not None and not isinstance(name_column, str):
        raise TypeError(f"name_column must be a str, not {quoted(name_column)}")
    if format is None:
        format = FORMATS.get(path.suffix.lower())
        if format is None:
            known = ", ".join(FORMATS)
            raise FileFormatError(f"{clipped(str(path))}: unknown file name ending; known are {known}")
    if not isinstance(format, str) or format not in _FORMATS:
        raise ValueError(unknown_name("format", format, _FORMATS))
    if layer is not None and format != "features":
        raise ValueError(f"layer: {format} files have no layers")
    if isinstance(parts, str):
        if format not in ("mesh", "ifc"):
            raise ValueError(
                f"{clipped(str(path))}: {format} files have one kind of parts: parts must be True or False"
            )
        part_type_of(path, parts)
    require_file(path)
    with reporting(progress) as told:
        if format == "ifc":
            return read_product_boxes(path, told, split=parts == "connected")
        return _READERS[format](path, parts, name_column, layer)
