"""Real sets, by the published count and checksum of their pairs."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, checksum
from cases import METHOD_NAMES

FASTER_METHODS = tuple(name for name in METHOD_NAMES if name != "brute_force")


@pytest.fixture
def load(data_folder):
    """Give a function that loads a set: its boxes, its arrays and what is known of it."""

    def load_set(name):
        arrays = np.load(data_folder / f"{name}.npz")
        known = json.loads((data_folder / f"{name}.json").read_text())
        return SimpleNamespace(boxes=np.stack([arrays["lo"], arrays["hi"]], axis=1), arrays=arrays, known=known)

    return load_set


@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize("name", ["box2d_rain", "box2d_tumbler", "osm_liechtenstein_buildings", "us_counties"])
def test_real_sets_have_their_known_pairs(load, name, method):
    real = load(name)
    for workers in (1, 2):
        found = bp.pairs(real.boxes, method=method, workers=workers)
        assert (len(found), checksum(found)) == (real.known["pairs"], real.known["pair_checksum"])
        assert bp.count_pairs(real.boxes, method=method, workers=workers) == real.known["pairs"]


@pytest.mark.parametrize("method", FASTER_METHODS)
@pytest.mark.parametrize("name", ["world_coast_segments", "sccd_cloth-ball"])
def test_large_real_sets_have_their_known_pairs(load, name, method):
    real = load(name)
    found = bp.pairs(real.boxes, method=method)
    assert (len(found), checksum(found)) == (real.known["pairs"], real.known["pair_checksum"])


@pytest.mark.parametrize("name", ["box2d_rain", "box2d_tumbler"])
def test_frames_of_a_moving_set_have_their_known_pairs(load, name):
    real = load(name)
    known = zip(real.arrays["frames"], real.known["pairs_per_frame"], real.known["checksum_per_frame"], strict=True)
    for number, (frame, count, fingerprint) in enumerate(known):
        for boxes in (frame, frame.astype(np.float64)):
            found = bp.pairs(boxes)
            assert (len(found), checksum(found)) == (count, fingerprint), (number, boxes.dtype)


@pytest.mark.parametrize("name", ["osm_liechtenstein_buildings", "us_counties", "box2d_rain"])
def test_real_sets_in_float32_agree_between_methods(load, name):
    boxes = load(name).boxes.astype(np.float32)
    expected = bp.pairs(boxes, method="brute_force")
    for method in FASTER_METHODS:
        assert_same_pairs(bp.pairs(boxes, method=method), expected, f"{name} {method}")


def test_shapes_of_one_body_and_static_shapes_are_left_out(load):
    real = load("box2d_rain")
    body, static = real.arrays["body_id"], real.arrays["body_type"] == 0
    found = bp.pairs(real.arrays["frames"][-1], ignore_shared=body, static=static)
    assert len(found) == real.known["last_frame_pairs_minus_same_body_and_static_static"]


@pytest.fixture
def swept(load):
    """Give the boxes of vertices, edges and faces of a cloth and a ball during one step, each widened by one ulp."""
    real = load("sccd_cloth-ball")
    start, end = real.arrays["v0"].astype(np.float64), real.arrays["v1"].astype(np.float64)
    lower = np.nextafter(np.minimum(start, end), -np.inf) - 5e-324
    upper = np.nextafter(np.maximum(start, end), np.inf) + 5e-324
    edges, faces = real.arrays["E"], real.arrays["F"]
    return SimpleNamespace(
        known=real.known["reference_broadphase"],
        arrays=real.arrays,
        edges=edges,
        faces=faces,
        vertex_boxes=(lower, upper),
        edge_boxes=(lower[edges].min(axis=1), upper[edges].max(axis=1)),
        face_boxes=(lower[faces].min(axis=1), upper[faces].max(axis=1)),
    )


def packed(pairs):
    return np.sort(pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1])


def contains(pairs, others):
    keys, wanted = packed(pairs), packed(others)
    return (keys[np.searchsorted(keys, wanted)] == wanted).all()


@pytest.mark.parametrize("method", FASTER_METHODS)
def test_edges_of_a_swept_cloth_have_their_published_candidates(swept, method):
    found = bp.pairs(swept.edge_boxes, method=method, ignore_shared=swept.edges, workers=2)
    assert len(found) == 5_197_332 == swept.known["ee_pairs"]
    assert checksum(found) == swept.known["ee_checksum"]
    assert contains(found, np.sort(swept.arrays["gt_ee"], axis=1))


@pytest.mark.parametrize("method", FASTER_METHODS)
def test_vertices_and_faces_of_a_swept_cloth_have_their_published_candidates(swept, method):
    shared = (np.arange(len(swept.vertex_boxes[0])), swept.faces)
    found = bp.pairs(swept.vertex_boxes, swept.face_boxes, method=method, ignore_shared=shared)
    assert len(found) == 1_655_541 == swept.known["vf_pairs"]
    assert checksum(found) == swept.known["vf_checksum"]
    assert contains(found, swept.arrays["gt_vf"])
    counted = bp.count_pairs(swept.vertex_boxes, swept.face_boxes, method=method, ignore_shared=shared, workers=2)
    assert counted == len(found)


def test_positions_at_the_two_ends_of_the_step_have_their_known_pairs(load):
    real = load("sccd_cloth-ball")
    for when, vertices in (("t0", real.arrays["v0"]), ("t1", real.arrays["v1"])):
        triangles = vertices[real.arrays["F"]].astype(np.float64)
        found = bp.pairs((triangles.min(axis=1), triangles.max(axis=1)))
        assert len(found) == real.known[f"face_boxes_{when}_pairs"]
        assert checksum(found) == real.known[f"face_boxes_{when}_checksum"]
