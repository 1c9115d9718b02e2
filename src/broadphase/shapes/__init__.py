"""Shapes: what actors look like to each other, one or many of a kind at a time."""

from broadphase.shapes import simple
from broadphase.shapes.compound import Compound
from broadphase.shapes.custom import CustomRows, CustomShape
from broadphase.shapes.height_field import HeightField
from broadphase.shapes.placed import Shapes
from broadphase.shapes.point_cloud import PointCloud
from broadphase.shapes.shape import Shape
from broadphase.shapes.simple import *  # noqa: F403
from broadphase.shapes.solids import ConvexHull, Mesh

__all__ = [
    "Compound", "ConvexHull", "CustomRows", "CustomShape", "HeightField", "Mesh", "PointCloud", "Shape", "Shapes",
]  # fmt: skip
__all__ += simple.__all__
