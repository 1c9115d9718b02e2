"""Shapes: what actors look like to each other, one or many of a kind at a time."""

from broadphase.shapes.compound import Compound
from broadphase.shapes.custom import CustomRows, CustomShape
from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.placed import Shapes
from broadphase.shapes.records import Geometries, Records, dimension_of, records_of, shape_from_record
from broadphase.shapes.shape import Shape
from broadphase.shapes.simple import (
    AABB,
    Box,
    Capsule,
    Circle,
    ConvexPolygon,
    Point,
    Rectangle,
    Segment,
    Sphere,
    Triangle,
)
from broadphase.shapes.solids import ConvexHull, Geometry, Mesh

__all__ = [
    "AABB", "Box", "Capsule", "Circle", "Compound", "ConvexHull", "ConvexPolygon", "CustomRows", "CustomShape",
    "Geometries", "Geometry", "Mesh", "Point", "Records", "Rectangle", "Segment", "Shape", "ShapeKind", "Shapes",
    "Sphere", "Triangle", "dimension_of", "records_of", "shape_from_record",
]  # fmt: skip
