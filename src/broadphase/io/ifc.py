"""Products of IFC files: walls, beams, pipes ... of buildings, as parts or as bounding boxes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import FileFormatError, clipped
from broadphase.extras import import_extra
from broadphase.files import require_unicode
from broadphase.io.box_file import BoxFile, naming_damage
from broadphase.io.part_file import PartFile, parts_of
from broadphase.mesh_formats import MeshNode, split_into_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from broadphase.progress import Told

__all__ = ["read_product_boxes", "read_products"]

_NOT_SOLID = ("IfcOpeningElement", "IfcSpace")  # what IfcConvert leaves out as well: holes, and the air of rooms


def read_products(path: Path, told: Told, part_type: str, *, split: bool = False) -> PartFile:
    """Read the products that have a body, in metres; openings are cut out of them, and spaces are left out.

    A part is named as its product, or by type and GlobalId if that has no name; its parent is the assembly that it is a
    part of. With `split`, parts are the connected pieces of products.
    """
    model, shapes = _shapes_of(path, told)
    known: dict[str, Any] = {}
    nodes = []
    for shape, pose in shapes:
        geometry = shape.geometry
        if geometry.id not in known:
            known[geometry.id] = _vertices(geometry), np.array(geometry.faces, np.int64).reshape(-1, 3)
        vertices, faces = known[geometry.id]
        given = str(shape.name) if (shape.name or "").strip() else None
        nodes.append(MeshNode(_name_of(shape), vertices, faces, pose, _assembly_of(model, shape), given))
    owners = np.arange(len(nodes))
    if split:
        nodes, owners = split_into_pieces(nodes)
    parts = [
        part._replace(type=str(shapes[row][0].type), guid=str(shapes[row][0].guid))
        for part, row in zip(parts_of(nodes), owners.tolist(), strict=True)
    ]
    return PartFile(parts, str(path), "m", part_type)


def read_product_boxes(path: Path, told: Told, *, split: bool = False) -> BoxFile:
    """Read the bounding box of each product or, with `split`, of its pieces, in metres; see `read_products`."""
    if split:
        parts = read_products(path, told, "connected piece", split=True).parts
        placed = [part.placed_vertices() for part in parts]
        boxes = np.stack([[vertices.min(axis=0), vertices.max(axis=0)] for vertices in placed])
        names = np.array([part.name for part in parts], object)
        return BoxFile(boxes, str(path), "connected piece", names, np.arange(len(boxes)))
    _, shapes = _shapes_of(path, told)
    boxes = np.empty((len(shapes), 2, 3))
    for row, (shape, pose) in enumerate(shapes):
        vertices = _vertices(shape.geometry) @ pose[:3, :3].T + pose[:3, 3]
        boxes[row] = vertices.min(axis=0), vertices.max(axis=0)
    names = np.array([_name_of(shape) for shape, _ in shapes], object)
    return BoxFile(boxes, str(path), "product", names, np.arange(len(boxes)))


def _shapes_of(path: Path, told: Told) -> tuple[Any, list[tuple[Any, Any]]]:
    """Return the model, and the shape of each product with its place, a matrix; in the order of the file."""
    ifc = import_extra("ifcopenshell", purpose="reading .ifc files", extra="ifc")
    geom = import_extra("ifcopenshell.geom", purpose="reading .ifc files", extra="ifc")
    matrix_of = import_extra("ifcopenshell.util.shape", purpose="reading .ifc files", extra="ifc").get_shape_matrix
    require_unicode(path, "ifcopenshell")
    with path.open("rb") as stream:  # a missing file is an OSError, and another kind of file never reaches the library
        if b"ISO-10303-21" not in stream.read(4096):
            raise FileFormatError(f"{clipped(str(path))}: not an IFC file")

    def each_shape() -> Iterator[tuple[Any, Any]]:
        with naming_damage(path, ".ifc"):
            iterator = geom.iterator(geom.settings(), model, os.cpu_count() or 1, exclude=_NOT_SOLID)
            is_there = iterator.initialize()
            while is_there:
                shape = iterator.get()
                yield shape, np.array(matrix_of(shape), np.float64)
                is_there = iterator.next()

    with naming_damage(path, ".ifc"):
        model = ifc.open(str(path))
        total = len(model.by_type("IfcProduct"))
    shapes = []
    for done, (shape, pose) in enumerate(each_shape()):
        told("read", done, total)
        if len(shape.geometry.faces):
            shapes.append((shape, pose))
    told("read", total, total)
    if not shapes:
        raise FileFormatError(f"{clipped(str(path))}: no product has a body")
    shapes.sort(key=lambda one: one[0].id)  # threads finish in any order
    return model, shapes


def _vertices(geometry: Any) -> Any:
    return np.array(geometry.verts, np.float64).reshape(-1, 3)


def _name_of(shape: Any) -> str:
    return str(shape.name) if (shape.name or "").strip() else f"{shape.type} {shape.guid}"


def _assembly_of(model: Any, shape: Any) -> str | None:
    for relation in model.by_id(shape.id).Decomposes:
        whole = relation.RelatingObject
        if whole.is_a("IfcElement"):
            return f"{whole.Name or whole.is_a()} {whole.GlobalId}"
    return None
