"""Read boxes from a file of any known format."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from broadphase.io import arrays, csv_table, geojson, meshes, parquet_table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from broadphase.io.box_file import BoxFile

_READERS: dict[str, Callable[[Path, bool, str | None], BoxFile]] = {
    "npy": lambda path, parts, names: arrays.read_npy(path),
    "npz": lambda path, parts, names: arrays.read_npz(path),
    "csv": lambda path, parts, names: csv_table.read_csv(path, name_column=names),
    "parquet": lambda path, parts, names: parquet_table.read_parquet(path, name_column=names),
    "geojson": lambda path, parts, names: geojson.read_geojson(path, parts=parts, name_property=names),
    "mesh": lambda path, parts, names: meshes.read_mesh(path, parts=parts),
}

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        ".npy": "npy",
        ".npz": "npz",
        ".csv": "csv",
        ".tsv": "csv",
        ".parquet": "parquet",
        ".geojson": "geojson",
        ".json": "geojson",
        ".obj": "mesh",
        ".stl": "mesh",
        ".ply": "mesh",
        ".glb": "mesh",
    }
)
"""The format that each file name ending stands for."""


def read_boxes(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    parts: bool = False,
    name_column: str | None = None,
) -> BoxFile:
    r"""Read the boxes of a file.

    Only shapes and types are checked here; empty cells become NaN. So ``pairs(file.boxes, invalid="skip")`` can leave
    out what is missing, and ``invalid="raise"`` names it.

    Parameters
    ----------
    path : path-like
        A file of one of these formats:

        - .npy: one array, (n, 2, d) or (n, 2*d); .npz: the array ``boxes``, or ``lower`` and ``upper``, or ``lo`` and
          ``hi``, and optionally ``names``.
        - .csv, .tsv, .parquet: columns such as ``xmin, ymin, xmax, ymax`` (also ``min_x``, ``lower_x``, ``x0`` and
          ``x1``, ``west``...; capitals do not matter); .csv also without a header, 2*d numbers in a row; .parquet also
          with the corners in one struct column, ``bbox``.
        - .geojson, .json: the box (longitude, latitude) of each feature.
        - .obj, .stl, .ply, .glb: the box of each triangle.
    format : {"npy", "npz", "csv", "parquet", "geojson", "mesh"}, optional
        Set it if the file name does not end as above.
    parts : bool
        GeoJSON: one box for each polygon, line or point of a feature that has several. Meshes: one box for each mesh
        of the scene; if there is but one, for each connected piece of it.
    name_column : str, optional
        The column or property that names the boxes. Unset: ``name``, ``label`` or ``id`` where there is one.

    Returns
    -------
    BoxFile
        With ``.boxes``, shape (n, 2, d), float32 or float64.

    Raises
    ------
    ValueError
        An unknown format, a damaged file, no boxes in it, or a cell that is no number; names file, row and column.
    OSError
        The file cannot be read.
    MissingExtraError
        .parquet without pyarrow, or a mesh without trimesh. (.csv is faster with pyarrow, but does without.)

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "boxes.csv")
    >>> _ = path.write_text("name,xmin,ymin,xmax,ymax\nred,0,0,2,2\nblue,1,1,3,3\n")
    >>> file = read_boxes(path)
    >>> file.boxes.shape, file.names[1]
    ((2, 2, 2), 'blue')
    """
    path = Path(path)
    if format is None:
        format = FORMATS.get(path.suffix.lower())
        if format is None:
            raise ValueError(f"{path}: unknown kind of file; known are {', '.join(FORMATS)}")
    if format not in _READERS:
        raise ValueError(f"format must be one of {', '.join(_READERS)}, not {format!r}")
    return _READERS[format](path, parts, name_column)
