"""Too little memory, or one block refused: `MemoryError`, and everything as it was before the call."""

import os
from pathlib import Path

import pytest

from cases import METHOD_NAMES, run_script
from failing_malloc import compiler, run_with_failing_malloc

SUPPORT = str(Path(__file__).resolve().parents[1] / "support")
SCRIPT = """
import resource, numpy as np, broadphase as bp
boxes = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (10_000, 2, 2)).copy()  # 400 MB of pairs
before = boxes.copy()
small = bp.pairs(boxes[:2000], method=METHOD, workers=2, sort=True)
with open("/proc/self/statm") as file:
    limit = int(file.read().split()[0]) * resource.getpagesize() + 150_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for workers in (1, 2):
    for sort in (False, True):
        try:
            bp.pairs(boxes, method=METHOD, workers=workers, sort=sort)
        except MemoryError:
            print("refused")
    assert np.array_equal(boxes, before)
    assert np.array_equal(bp.pairs(boxes[:2000], method=METHOD, workers=workers, sort=True), small)
    assert bp.count_pairs(boxes, method=METHOD, workers=workers) == 10_000 * 9_999 // 2
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="address space can be limited on Linux only")
@pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="sanitizers take all address space")
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_pairs_that_do_not_fit_raise_memory_error(method):
    # Otherwise each new thread may reserve 128 MB of address space for itself.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    assert run_script(SCRIPT.replace("METHOD", repr(method)), environment=environment).split() == ["refused"] * 4


# Refuses each block that a call asks for, one at a time, and calls again: the same answer as if nothing had been.
REFUSED = """
import copy, itertools, pickle, sys
import numpy as np, pyarrow, broadphase as bp
from broadphase import scale
from broadphase.scale.planning import divide
from broadphase.testing import make_scene

sys.path.append(SUPPORT)
import query_cases

step = int(sys.argv[1])
boxes, others = make_scene("uniform", 700), make_scene("uniform", 300, seed=2)
points = np.ascontiguousarray(boxes[:, 0])
keys = np.arange(len(boxes)) % 5
span = points.max(axis=0) + 2.0
shapes = bp.Shapes(bp.Sphere(np.full(len(points), 0.6)), points)
cloud = [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]
hulls = bp.Shapes(bp.ConvexHull(cloud), points[:60])
corners, faces = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
meshes = bp.Shapes(bp.Mesh(corners, faces), points[:60])
cells = np.tile(np.diag(span), (5, 1, 1))
view = bp.cameras.perspective(1.0, 1.0, 0.1, 50.0) @ bp.cameras.look_at([20, 20, 20], [5, 5, 5])

turned = np.column_stack([boxes[:, 0], boxes[:, 1] - boxes[:, 0], boxes[:, 0, 0]])

def again(index):
    return [index.pairs() for _ in range(4)][-1]

def followed():
    near = bp.NeighborList(1.5, skin=0.2)
    near.update(points)
    return near.update(points + 0.01), near.update(points + 1.0)

def changed(make):
    index = make(boxes, batch=keys)
    index.insert(others[:100], batch=keys[:100])
    index.move(np.arange(200), boxes[:200] + 1)
    index.remove(np.arange(50))
    return index.query(others[:20], batch=keys[:20]), index.pairs(sort=True)

def between_tables():
    columns = scale.BoxColumns(None, ("x", "y", "z"), ("X", "Y", "Z"))
    table = pyarrow.table(dict(zip("xyzXYZ", boxes.reshape(-1, 6).T)))
    plan = divide(boxes[:, 0], boxes[:, 1], len(boxes), 200)
    given = scale.assign(table, plan, columns)
    return [scale.join(given, plan, tile, columns).to_pydict() for tile in range(plan.tile_count)]

def of_robots():
    links = [bp.Link("a", hulls[0], joint="revolute"), bp.Link("b", meshes[0], "a", "prismatic")]
    robot, known = bp.Articulated(links), bp.Obstacles(meshes)
    q = points[:200, :2]
    found = robot.collides(q, known, workers=2), robot.clearance(q[:20], known, max_distance=0.5), robot.poses(q)
    ways = q[:5], q[5:10], known
    return found, robot.first_contact(*ways), robot.edges_collide(*ways)

def refused(call, number):
    # Whether block `number` was asked for, and refused; and what came of it.
    refuse(number)
    try:
        answer = pickle.dumps(call())
    except MemoryError:
        answer = None
    finally:
        asked = memory.blocks_asked()
        refuse_none()
    return asked > number, answer

CALLS = {}
for method in METHOD_NAMES:
    CALLS["pairs " + method] = lambda method=method: bp.pairs(boxes, method=method, sort=True)
    CALLS["two sets " + method] = lambda method=method: bp.pairs(boxes, others, method=method, sort=True, workers=2)
    CALLS["chunks " + method] = lambda method=method: list(bp.iter_pairs(boxes, method=method, chunk=100))
    CALLS["batch " + method] = lambda method=method: bp.pairs(boxes, method=method, batch=keys, sort=True)
    CALLS["period " + method] = lambda method=method: bp.pairs(boxes, method=method, period=span, sort=True)
CALLS |= {
    "margin": lambda: bp.pairs(boxes, margin=0.2, group=keys % 2, sort=True),
    "count": lambda: bp.count_pairs(boxes, workers=2),
    "nms": lambda: bp.nms(boxes, np.linspace(0, 1, len(boxes)), 0.2),
    "nms with a yaw": lambda: bp.nms(turned, np.linspace(0, 1, len(boxes)), 0.2, form="xyzlwhr"),
    "soft_nms": lambda: bp.soft_nms(boxes, np.linspace(0, 1, len(boxes))),
    "iou": lambda: bp.iou(boxes[:300], others),
    "neighbors": lambda: bp.neighbors(points, 1.5),
    "neighbors of two sets": lambda: bp.neighbors(points, 1.5, points[:200]),
    "overlaps": lambda: bp.overlaps(shapes),
    "contacts": lambda: bp.contacts(shapes),
    "contacts of hulls": lambda: bp.contacts(hulls),
    "distance": lambda: bp.distance(hulls, pairs=[[0, 1], [2, 3]]),
    "clashes": lambda: bp.clashes(hulls, clearance=0.1),
    "cell": lambda: bp.neighbors(points, 1.5, cell=span, vectors=True, shifts=True),
    "neighbors of systems": lambda: bp.neighbors(points, 1.5, batch=keys, cell=cells, full=True, sort=True),
    "neighbors of radii": lambda: bp.neighbors(points, np.linspace(0.1, 3, len(points)), combine="max", workers=2),
    "neighbor list": followed,
    "contacts of meshes": lambda: bp.contacts(meshes),
    "clearances": lambda: bp.clearances(meshes, max_distance=0.5, workers=2),
    "faces": lambda: bp.overlapping_faces(meshes, pairs=[[0, 1], [2, 3]]),
    "rays": lambda: bp.raycast(meshes, points[:60], np.ones((60, 3)), rows=np.arange(60)),
    "crossings": lambda: bp.raycast(
        meshes, points[:60], np.ones((60, 3)), rows=np.arange(60), every=True, workers=2
    ),
    "impacts": lambda: bp.time_of_impact(hulls, pairs=[[0, 1], [2, 3]], motions=np.ones((2, 3))),
    "robots": of_robots,
    "tiles": between_tables,
    "triangles": lambda: bp.triangle_pairs((points, np.arange(699).reshape(233, 3))),
}
for name in (method.index_class for method in bp.METHODS):
    make = getattr(bp, name)
    CALLS["make " + name] = lambda make=make: make(boxes).query(boxes[:3])
    index = make(boxes)
    for query, given in query_cases.arguments_of(others[:100], np.ones((100, 3))).items():
        CALLS[f"{name} {query}"] = lambda ask=getattr(index, query), given=given: ask(**given)
    CALLS[f"{name} frustum of a camera"] = lambda index=index: index.frustum(view)
    CALLS[f"{name} pairs"] = lambda index=index: copy.copy(index).pairs()
    CALLS[f"{name} pairs of before"] = lambda index=index: again(copy.copy(index))
    CALLS[f"{name} changes"] = lambda make=make: changed(make)

for name, call in CALLS.items():
    try:
        expected, raised = pickle.dumps(call()), 0
    except bp.errors.UnsupportedQueryError:
        continue
    for number in itertools.count(0, step):
        was_refused, answer = refused(call, number)
        assert answer in (None, expected), (name, number)
        assert pickle.dumps(call()) == expected, (name, number)
        raised += answer is None
        if not was_refused:
            break
    print(name, number, raised, sep=":")
"""


def refusals(folder, step):
    """Refuse every `step`-th block of every call; give how many refusals were raised, by the name of the call."""
    pytest.importorskip("pyarrow")
    said = run_with_failing_malloc(
        REFUSED.replace("METHOD_NAMES", repr(METHOD_NAMES)).replace("SUPPORT", repr(SUPPORT)), folder, str(step)
    ).splitlines()
    return {name: int(raised) for name, _, raised in (line.rsplit(":", 2) for line in said)}


@pytest.mark.skipif(compiler() is None, reason="needs Linux with glibc and a C compiler")
def test_call_refused_any_block_raises_memory_error_and_answers_the_next_time(tmp_path):
    assert sum(refusals(tmp_path, 11).values())
