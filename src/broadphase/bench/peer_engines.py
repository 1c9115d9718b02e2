"""Physics and collision libraries: their broad phase is fed one object per box."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.bench.extras import load

if TYPE_CHECKING:
    from numpy.typing import NDArray


def as_pairs(rows: list[Any]) -> NDArray[Any]:
    """Give a list of pairs, or of alternating first and second rows, as an array with first < second."""
    return np.sort(np.array(rows, np.int64).reshape(-1, 2), axis=1)


def ipctk_vertices(boxes: NDArray[Any], broad_phase: Any) -> NDArray[Any]:
    """Take each box as a vertex that moves from the lower corner to the upper one: its swept box is the box."""
    lower, upper = (np.asfortranarray(boxes[:, side], np.float64) for side in (0, 1))
    none = (np.zeros((0, size), np.int32, order="F") for size in (2, 3))
    broad_phase.build(lower, upper, *none)
    names = attrgetter("vertex0_id", "vertex1_id")
    return as_pairs([names(candidate) for candidate in broad_phase.detect_vertex_vertex_candidates()])


def ipctk_lbvh(boxes: NDArray[Any]) -> NDArray[Any]:
    """Linear bounding volume hierarchy of the IPC toolkit."""
    module = load("ipctk")
    module.set_num_threads(1)
    return ipctk_vertices(boxes, module.LBVH())


def ipctk_hash_grid(boxes: NDArray[Any]) -> NDArray[Any]:
    """Hash grid of the IPC toolkit."""
    module = load("ipctk")
    module.set_num_threads(1)
    return ipctk_vertices(boxes, module.HashGrid())


def fcl(boxes: NDArray[Any]) -> NDArray[Any]:
    """Dynamic AABB tree of FCL; its callback names objects only by where they are, so centres must differ."""
    module = load("fcl", "python-fcl")
    lower, upper = np.zeros((len(boxes), 3)), np.ones((len(boxes), 3))
    lower[:, : boxes.shape[2]], upper[:, : boxes.shape[2]] = boxes[:, 0], boxes[:, 1]
    centers, edges, upright = (lower + upper) / 2, upper - lower, np.eye(3)
    objects = [
        module.CollisionObject(module.Box(*edge), module.Transform(upright, center))
        for edge, center in zip(edges.tolist(), centers, strict=True)
    ]
    rows = {center.tobytes(): row for row, center in enumerate(centers)}
    manager = module.DynamicAABBTreeCollisionManager()
    manager.registerObjects(objects)
    manager.setup()
    found: list[int] = []

    def note(first: Any, second: Any, _: Any) -> bool:
        found.append(rows[first.getTranslation().tobytes()])
        found.append(rows[second.getTranslation().tobytes()])
        return False

    manager.collide(None, note)
    return as_pairs(found)


def pymunk(boxes: NDArray[Any]) -> NDArray[Any]:
    """Space of pymunk with one static shape per rectangle, asked for each."""
    module = load("pymunk")
    space, everything = module.Space(), module.ShapeFilter()
    bounds = [module.BB(*rectangle) for rectangle in boxes.reshape(len(boxes), 4).tolist()]
    rows = {module.Poly.create_box_bb(space.static_body, bound): row for row, bound in enumerate(bounds)}
    space.add(*rows)
    hits = ((row, rows[shape]) for row, bound in enumerate(bounds) for shape in space.bb_query(bound, everything))
    return as_pairs([pair for pair in hits if pair[0] < pair[1]])


def pygame(boxes: NDArray[Any]) -> NDArray[Any]:
    """Ask `FRect.collidelistall` of pygame-ce for each rectangle: what most games do."""
    rect = load("pygame", "pygame-ce").FRect
    rectangles = [rect(a, b, c - a, d - b) for a, b, c, d in boxes.reshape(len(boxes), 4).tolist()]
    hits = ((row, other) for row, one in enumerate(rectangles) for other in one.collidelistall(rectangles))
    return as_pairs([pair for pair in hits if pair[0] < pair[1]])
