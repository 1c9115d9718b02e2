"""How many nodes the walks of trees on a device visit: what makes a scene slow there, counted instead of timed."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES, make_scene
from cases import DTYPES, SCENES_ON_DEVICE

wp = pytest.importorskip("warp", reason="NVIDIA Warp is not installed: pip install 'broadphase[gpu]'")

from broadphase.gpu.boxes import Keys, boxes_on  # noqa: E402
from broadphase.gpu.native import node_access  # noqa: E402
from broadphase.gpu.tree import build, refit  # noqa: E402

N = 20_000
UNIFORM = {2: "uniform_2d", 3: "uniform"}
MOST = 6.0  # times as many as in the uniform scene


def counting_kernel(kind):
    access = node_access(kind)
    take = access.take

    @wp.kernel(enable_backward=False, module="unique")
    def count_visits(nodes: wp.array(dtype=access.type), count: int, axes: int, visits: wp.array(dtype=wp.int32)):
        place = wp.tid()
        own = nodes[count - 1 + place]
        number = take(own[7])
        visited = int(0)
        while number < 2 * count - 1:
            node = nodes[number]
            visited += 1
            meets = bool(True)
            for axis in range(axes):
                meets = meets and own[axis] <= node[axis + 3] and node[axis] <= own[axis + 3]
            if meets and number < count - 1:
                number = take(node[6])
            else:
                number = take(node[7])
        visits[place] = visited

    return count_visits


KERNELS = {"float32": counting_kernel(wp.float32), "float64": counting_kernel(wp.float64)}


def tree_over(boxes, scratch):
    counters = scratch.array("counters", 3, wp.int64)
    counters.zero_()
    return build(boxes, 0.0, Keys(), scratch, "walks", counters=counters, checked=1)


def visits_in(tree, boxes):
    visits = wp.zeros(tree.count, dtype=wp.int32, device="cpu")
    kernel = KERNELS["float32" if boxes.dtype == wp.float32 else "float64"]
    wp.launch(kernel, tree.count, inputs=[tree.nodes, tree.count, boxes.dim, visits], device="cpu")
    return visits.numpy()


def cost_of(boxes):
    """Count visits per box and pair; 32 walks side by side, as on a card, take as long as the longest of them."""
    given = boxes_on(boxes, "boxes", "cpu")
    with given.place.running() as scratch:
        visits = visits_in(tree_over(given, scratch), given)
    longest = np.pad(visits, (0, -len(visits) % 32)).reshape(-1, 32).max(axis=1)
    return 32 * longest.sum() / (len(boxes) + bp.count_pairs(boxes))


@pytest.fixture(scope="module")
def uniform_costs():
    return {
        (dim, dtype): cost_of(make_scene(name, N, dtype=dtype)) for dim, name in UNIFORM.items() for dtype in DTYPES
    }


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in SCENES_ON_DEVICE if not SCENES[name].quadratic])
def test_gpu_walks_of_every_scene_visit_few_nodes(name, dtype, uniform_costs):
    boxes = make_scene(name, N, dtype=dtype)
    assert cost_of(boxes) < MOST * uniform_costs[boxes.shape[2], dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("clusters", [100, 1000, 10_000])
def test_gpu_walks_in_many_tiny_clusters_visit_few_nodes(clusters, dtype, uniform_costs):
    rng = np.random.default_rng(clusters)
    width = 1e-4 if dtype == "float32" else 1e-9
    places = rng.random((clusters, 3))[rng.integers(0, clusters, N)]
    centers = places + width * rng.random((N, 3))
    half = 0.4 * width * (clusters / N) ** (1 / 3)
    boxes = np.stack([centers - half, centers + half], axis=1).astype(dtype)
    assert cost_of(boxes) < MOST * uniform_costs[3, dtype]


def test_gpu_boxes_that_overlap_all_are_found_by_the_others(uniform_costs):
    boxes = make_scene("uniform", N).copy()
    boxes[:: N // 100] = [[-1, -1, -1], [2, 2, 2]]
    given = boxes_on(boxes, "boxes", "cpu")
    with given.place.running() as scratch:
        visits = visits_in(tree_over(given, scratch), given)
    assert visits.max() < 1000
    assert cost_of(boxes) < uniform_costs[3, "float32"]


def test_gpu_refitted_trees_have_the_nodes_of_the_boxes_now():
    rng = np.random.default_rng(0)
    boxes = make_scene("uniform", 3000, dtype="float64")
    given = boxes_on(boxes, "boxes", "cpu")
    with given.place.running() as scratch:
        tree = tree_over(given, scratch)
        for _ in range(3):
            boxes = boxes + rng.normal(size=(3000, 1, 3)) * 0.02
            moved = boxes_on(boxes, "boxes", "cpu")
            refit(tree, moved, 0.0)
            nodes, order = tree.nodes.numpy()[:5999], tree.rows.numpy()[:3000]
            leaves = nodes[2999:]
            assert np.array_equal(leaves[:, [0, 1, 2]], boxes[order, 0])
            assert np.array_equal(leaves[:, [3, 4, 5]], boxes[order, 1])
            assert np.array_equal(nodes[0, :3], boxes[:, 0].min(axis=0))
            assert np.array_equal(nodes[0, 3:6], boxes[:, 1].max(axis=0))
            # Each inner node holds exactly its two children: the left one, and what follows that.
            left = nodes[:2999, 6].astype(int)
            right = nodes[left, 7].astype(int)
            assert np.array_equal(nodes[:2999, :3], np.minimum(nodes[left, :3], nodes[right, :3]))
            assert np.array_equal(nodes[:2999, 3:6], np.maximum(nodes[left, 3:6], nodes[right, 3:6]))
