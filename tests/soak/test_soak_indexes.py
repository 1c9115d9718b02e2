"""Full numbers: a million questions of every kind, thousands of long histories, worlds of a million equal points."""

import gc
import threading
import time

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import moving
from cases import DIMENSIONS, DTYPES
from index_cases import (
    CAPABILITIES,
    CLASSES,
    FLOAT64_ONLY,
    QUESTIONS,
    SCENES,
    Asker,
    ask,
    check_pairs_of,
    check_questions,
    generator,
    make_questions,
    questions_of,
    scene,
)
from index_histories import History
from seeds import seeds
from test_index_degenerate import KINDS, STACK, degenerate
from test_soak_runs import resident_bytes

pytestmark = pytest.mark.soak
each_class = pytest.mark.parametrize("name", CLASSES)


# The oracle answers for all classes at once: it takes far longer than any of them.
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_million_questions_of_every_kind_have_the_answers_of_the_oracle(dimension):
    kinds = list(SCENES)
    for seed in seeds(2500):  # 100 questions each, in four dimensions
        rng = generator("soak", seed, dimension)
        kind = kinds[seed % len(kinds)]
        dtype = "float64" if kind in FLOAT64_ONLY else DTYPES[seed // len(kinds) % 2]
        n = int(rng.choice([0, 1, 2, 5, 20, 64, 65, 300, 1000]))
        boxes = scene(kind, rng, n, dimension, dtype)
        bits = tuple(rng.integers(0, 8, (2, n)).astype(np.uint64)) if seed % 5 == 0 else None
        questions = make_questions(rng, boxes, count=100, bits=bits)
        for name in CLASSES:
            label = f"{name} seed={seed} {kind} n={n} d={dimension} {dtype}"
            index = getattr(bp, name)(boxes)
            if bits is not None:
                index.set_filters(index.rows, layer=bits[0], mask=bits[1])
            check_questions(index, questions, label)
            if n < 500:
                filters = {} if bits is None else {"layer": bits[0], "mask": bits[1]}
                check_pairs_of(index, label, **filters)


@pytest.mark.parametrize("exponent", range(16))
def test_questions_far_from_the_origin_have_the_answers_of_the_oracle(exponent):
    for seed in seeds(200):
        rng = generator("far", seed, exponent)
        dimension, kind = 1 + seed % 4, ("lattice", "scattered", "giants", "points")[seed % 3]
        boxes = (scene(kind, rng, 200, dimension) + 10.0**exponent).astype(DTYPES[seed % 2])
        questions = make_questions(rng, boxes)
        for name in CLASSES:
            check_questions(getattr(bp, name)(boxes), questions, f"{name} seed={seed} 1e{exponent}")


def test_questions_at_every_scale_have_the_answers_of_the_oracle():
    for seed in seeds(2001):
        exponent = seed * 37 % 2001 - 1000  # all of them, here and there
        rng = generator("scale", exponent)
        boxes = np.ldexp(scene("lattice", rng, 100, 1 + exponent % 4), exponent)
        questions = make_questions(rng, boxes)
        for name in CLASSES:
            check_questions(getattr(bp, name)(boxes), questions, f"{name} 2**{exponent}")


@each_class
def test_ten_thousand_histories_of_two_hundred_steps_are_right(name):
    kinds = [kind for kind in SCENES if kind not in ("huge", "tiny", "very_far")]
    for seed in seeds(1430):  # of seven classes
        history = History(getattr(bp, name), seed, kind=kinds[seed % len(kinds)], dimension=1 + seed % 4)
        for _ in range(200):
            history.step()
            history.check()
        history.check_fresh()


@pytest.mark.parametrize("name", [name for name in CLASSES if "changes" in CAPABILITIES[name]])
def test_what_begins_and_ends_balances_over_ten_thousand_histories(name):
    for seed in seeds(5000):  # of two classes
        kind = ("lattice", "scattered", "giants", "infinite")[seed % 4]
        history = History(getattr(bp, name), seed, kind=kind, dimension=1 + seed % 4)
        for _ in range(100):
            history.step()
            history.check_changes()


@pytest.mark.parametrize("kind", [kind for kind, linear in KINDS.items() if linear or kind.startswith("equal points")])
@each_class
def test_a_million_boxes_in_a_degenerate_world_take_little_stack_and_ten_times_as_long_at_most(name, kind):
    n = 1_000_000
    rng = np.random.default_rng(1)
    usual = np.repeat(rng.random((n, 1, 2)), 2, axis=1)
    points = rng.random((1000, 2))
    failures, seconds = [], []

    def use(boxes):
        try:
            began = time.perf_counter()
            index = getattr(bp, name)(boxes)
            if "nearest" in CAPABILITIES[name]:
                index.nearest(points)
                index.raycast(points, points - 0.5, max_distance=0.01)
            if KINDS[kind]:
                index.count_pairs()
            rows = np.arange(0, n, 7)
            index.move(rows, boxes[rows])
            index.remove(rows)
            index.insert(boxes[rows])
            index.validate()
            seconds.append(time.perf_counter() - began)
        except BaseException as error:  # to be raised where it fails the test
            failures.append(error)

    before = threading.stack_size(STACK)
    try:
        for boxes in (usual, degenerate(kind, n)):
            thread = threading.Thread(target=use, args=(boxes,))
            thread.start()
            thread.join()
    finally:
        threading.stack_size(before)
    if failures:
        raise failures[0]
    assert seconds[1] < 10 * seconds[0] + 1


@each_class
def test_a_million_partners_of_one_box_are_found_by_every_index(name):
    n = 1_000_001
    boxes = np.repeat(np.random.default_rng(2).random((n, 1, 3), np.float32), 2, axis=1)
    boxes[n // 2] = [[-1] * 3, [2] * 3]
    index = getattr(bp, name)(boxes)
    pairs = index.pairs(sort=True)
    partners = pairs[(pairs == n // 2).any(axis=1)].sum(axis=1) - n // 2
    assert len(partners) == n - 1
    assert len(np.unique(partners)) == n - 1
    if "query" in CAPABILITIES[name]:
        assert len(index.query(boxes[n // 2][None]).rows) == n


@each_class
def test_a_slot_that_is_used_a_million_times_never_honours_an_old_handle(name):
    index = getattr(bp, name)(np.zeros((2, 2, 2)))
    box = np.zeros((1, 2, 2))
    stale = []
    for turn in range(1_000_000):
        if turn % 10_000 == 0:
            stale.append(int(index.handles([1])[0]))
        index.remove([1])
        index.insert(box)
    for handle in stale:
        with pytest.raises(KeyError):
            index.rows_of([handle])
    assert index.rows_of(index.handles()).tolist() == [0, 1]


@each_class
def test_a_hundred_thousand_frames_take_the_memory_of_a_few(name):
    world = moving("uniform", 300)
    frames = [world.step() for _ in range(50)]
    index = getattr(bp, name)(frames[0])
    asker = Asker(generator(0), frames[0])
    questions = [(question, QUESTIONS[question][2](asker, 10)) for question in questions_of(index)]

    def run(number):
        index.update(frames[number % 50])
        index.pairs()
        rows = index.rows[:20]
        kept = index.boxes_of(rows)
        index.remove(rows)
        index.insert(kept)
        for question, arguments in questions:
            ask(index, question, arguments)

    for number in range(200):
        run(number)
    gc.collect()
    before, bytes_before = resident_bytes(), index.memory_bytes
    for number in range(100_000):
        run(number)
    assert resident_bytes() - before < 5_000_000
    assert index.memory_bytes < 2 * bytes_before + 100_000


@pytest.mark.parametrize("corner", [0, 1])
@each_class
def test_nan_and_turned_boxes_are_named_at_every_position_and_change_nothing(name, corner):
    for seed in seeds(3000):
        rng = generator("bad", seed, corner)
        dimension, n = 1 + seed % 4, int(rng.integers(1, 60))
        boxes = scene("lattice", rng, n, dimension, DTYPES[seed % 2])
        index = getattr(bp, name)(boxes)
        before = index.handles(), index.boxes_of()
        bad = boxes.copy()
        row, axis = int(rng.integers(n)), int(rng.integers(dimension))
        bad[row, corner, axis] = np.nan if seed % 3 else (99.0, -99.0)[corner]
        able = CAPABILITIES[name]
        points = bad[:, corner].astype(float) if seed % 3 else np.full((n, dimension), np.nan)
        changes = [
            lambda bad=bad: getattr(bp, name)(bad),
            lambda index=index, bad=bad: index.insert(bad),
            lambda index=index, bad=bad: index.update(bad),
        ]
        if "query" in able:
            changes += [
                lambda index=index, bad=bad: index.query(bad),
                lambda index=index, points=points: index.query_points(points),
            ]
        if "nearest" in able:
            changes.append(lambda index=index, points=points: index.nearest(points))
        if "raycast" in able:
            changes += [
                lambda index=index, bad=bad, dimension=dimension: index.shapecast(bad, np.ones(dimension)),
                lambda index=index, points=points: index.raycast(points, points),
            ]
        for number, change in enumerate(changes):
            with pytest.raises(ValueError, match=f"row {row}" if seed % 3 else "row "):
                change()
            assert all(map(np.array_equal, before, (index.handles(), index.boxes_of()))), number
        index.validate()
