"""Box arrays: check them, make them from other forms, change them.

A set of n boxes in d dimensions is an array of shape (n, 2, d), lower corner then upper corner, or (n, 2*d) with the
same numbers in a row, or a tuple ``(lower, upper)`` of two (n, d) arrays. Everything here is a pure function over such
arrays; results are new arrays of shape (n, 2, d) unless a docstring says that it is a view.

No function returns a box smaller than the exact one: a corner that is computed (``center - half``) and not
representable is rounded away from the box, to the next number of the result's dtype. A corner that is representable is
exact, so shapes that touch at representable coordinates have boxes that touch and no more. (`grow` alone rounds to
nearest, to agree with ``pairs(margin=...)``.)

A result is float32 if every array given is float32, otherwise float64; a plain Python number does not count.
"""

from broadphase.boxes.changing import grow, merge, swept
from broadphase.boxes.conversion import from_frame, from_geometries, from_rects, from_xywh
from broadphase.boxes.forms import Boxes, as_boxes, as_corners, describe_invalid, find_invalid
from broadphase.boxes.making import from_centers, from_parts, from_points, from_segments, from_spheres, from_triangles
from broadphase.boxes.numbers import as_numbers

__all__ = [
    "Boxes", "as_boxes", "as_corners", "as_numbers", "describe_invalid", "find_invalid", "from_centers", "from_frame",
    "from_geometries", "from_parts", "from_points", "from_rects", "from_segments", "from_spheres", "from_triangles",
    "from_xywh", "grow", "merge", "swept",
]  # fmt: skip
