"""Robots: trees of links with shapes, and whether they meet obstacles or themselves in thousands of configurations."""

from broadphase.robots.articulated import Articulated, Poses
from broadphase.robots.collisions import Collisions, NearestParts
from broadphase.robots.link import Link
from broadphase.robots.obstacles import Obstacles

__all__ = ["Articulated", "Collisions", "Link", "NearestParts", "Obstacles", "Poses"]
