"""Inputs that another process or thread writes to during a call: any answer or error, but the process survives."""

import os

import pytest

from written_inputs import fault, uncovered

# What once crashed, and what crashes most readily where a number is read twice. All others: the soak.
DANGEROUS = (
    "pairs[sweep_and_prune-1-float32](boxes)", "pairs[whole](other)", "pairs[bvh-2-float64](boxes)",
    "pairs[octree-2-float64](boxes)", "pairs[linear_tree-2-float64](boxes)", "pairs[grid-clusters](boxes)",
    "pairs(batch)", "pairs(ignore_pairs)", "pairs(period)", "triangle_pairs(faces)", "neighbors[2](batch)",
    "NeighborList.update(batch)", "nms(batch)", "nms(boxes)", "soft_nms[gaussian-turned](scores)", "iou(pairs)",
    "contacts[2](pairs)", "Shapes.move[3](rows)", "Contacts.padded(pairs)", "Mesh(faces)", "BVH.update(boxes)",
    "BVH.move(rows)", "BVH.remove(rows)", "BVH.rows_of(handles)", "BVH.query(ignore)", "BVH.query(boxes)",
    "BVH.nearest(rows)", "QueryResult.padded(offsets)", "World.set_filters[2](rows)", "World.ignore[2](pairs)",
    "World.step[3-0-0.01](positions)", "boxes.from_triangles(faces)", "boxes.from_parts(parts)", "join[inner](key)",
)  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="writes by another process to shared memory")
def test_calls_survive_inputs_that_are_written_meanwhile():
    assert fault(0.15, *DANGEROUS) is None


def test_soak_writes_to_each_array_argument_of_each_public_call():
    assert uncovered() == set()
