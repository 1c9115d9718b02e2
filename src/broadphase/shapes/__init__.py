"""Shapes: what actors look like to each other, one or many of a kind at a time."""

from broadphase.shapes import simple
from broadphase.shapes.compound import Compound
from broadphase.shapes.custom import CustomRows, CustomShape
from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.placed import Shapes
from broadphase.shapes.records import Geometries, Records, dimension_of, records_of, shape_from_record
from broadphase.shapes.shape import Shape
from broadphase.shapes.simple import *  # noqa: F403
from broadphase.shapes.solids import ConvexHull, Geometry, Mesh

__all__ = [
    "Compound", "ConvexHull", "CustomRows", "CustomShape", "Geometries", "Geometry", "Mesh", "Records", "Shape",
    "ShapeKind", "Shapes", "dimension_of", "records_of", "shape_from_record",
]  # fmt: skip
__all__ += simple.__all__
