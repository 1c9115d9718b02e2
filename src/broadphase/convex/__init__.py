"""Convex regions as slabs: oriented boxes, and what is in view of a camera.

Two convex polytopes are disjoint exactly if their projections on some axis are: on a face normal of either or, in 3D,
on a cross product of an edge of each. So a region is listed as slabs ``least <= axis . x <= most`` for the axes that
its faces give, and its edges with those of the coordinate axes, and a box around it for the coordinate axes themselves.
A box meets the region if its projections meet all slabs, and the box around it.

Rounding errs on one side. A box that touches a region is never separated from it; one that misses it by less than some
1e-14 of the coordinates at hand may be taken to touch. Faces that lie along the coordinate axes are exact.
"""

from broadphase.convex.oriented_boxes import regions_of_boxes
from broadphase.convex.polyhedra import DEPTHS, MOST_PLANES, regions_of_planes, regions_of_views
from broadphase.convex.regions import Regions

__all__ = ["DEPTHS", "MOST_PLANES", "Regions", "regions_of_boxes", "regions_of_planes", "regions_of_views"]
