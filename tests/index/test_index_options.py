"""Options of indexes change what they cost, never what they answer."""

import numpy as np
import pytest

import broadphase as bp
from cases import DIMENSIONS, DTYPES
from index_cases import CLASSES, check_pairs_of, check_questions, questions_of_scene
from index_histories import History

# By class: options, of which those that depend on the dimension are functions of it.
OPTIONS = {
    "BVH": [{"workers": 2}],
    "Index": [{"workers": 2}],
    "LinearTree": [
        {"storage": "flat"},
        {"traversal": "covered_leaves"},
        {"storage": "flat", "traversal": "covered_leaves", "depth": 3},
        {"depth": 0},
        {"depth": 1, "traversal": "covered_leaves"},
        {"depth": lambda dimension: {1: 57, 2: 29, 3: 19, 4: 14}[dimension]},
        {"tuning": "origin"},
        {"tuning": "origin", "most_depth": 2, "traversal": "covered_leaves"},
        {"bounds": lambda dimension: [[-1.0] * dimension, [1.0] * dimension]},
        {"bounds": lambda dimension: [[1e9] * dimension, [-1e-9] * dimension], "depth": 6},
        {"bounds": lambda dimension: [[-np.inf] * dimension, [2.0] * dimension]},
    ],
    "Octree": [
        {"leaf_capacity": 1},
        {"leaf_capacity": 1, "looseness": 1.0},
        {"leaf_capacity": 1, "looseness": 1.0, "minimum": 1.0},
        {"leaf_capacity": 3, "looseness": 1.25, "minimum": 0.5},
        {"looseness": 5.0},
        {"minimum": 1e6},
        {"leaf_capacity": 2, "bounds": lambda dimension: [[-100.0] * dimension, [1.0] * dimension]},
    ],
    "SweepAndPrune": [{"axis": 0}, {"axis": "principal"}, {"axis": lambda dimension: [1.0] * dimension}],
}
CASES = [(name, options) for name in CLASSES for options in OPTIONS.get(name, [])]
each_case = pytest.mark.parametrize(
    ("name", "options"), CASES, ids=[f"{name}-{'-'.join(options)}-{k}" for k, (name, options) in enumerate(CASES)]
)
KINDS = ("lattice", "infinite", "nested", "giants", "clustered", "very_far")


def chosen(options, dimension):
    return {name: value(dimension) if callable(value) else value for name, value in options.items()}


@each_case
def test_every_question_has_the_same_answer_whatever_the_options(name, options):
    for dimension in DIMENSIONS:
        for number, kind in enumerate(KINDS):
            dtype = DTYPES[number % 2]
            boxes, questions = questions_of_scene(kind, 120, dimension, dtype)
            index = getattr(bp, name)(boxes, **chosen(options, dimension))
            label = f"{name} {kind} d={dimension} {dtype} {options}"
            check_questions(index, questions, label)
            check_pairs_of(index, label)
            check_pairs_of(index, label, touching=False)
            index.validate()


@pytest.mark.parametrize("seed", range(2))
@each_case
def test_random_histories_are_right_whatever_the_options(name, options, seed):
    dimension = 1 + (seed + len(options)) % 4
    kind = KINDS[(seed + len(str(options))) % 5]
    history = History(getattr(bp, name), seed, kind=kind, dimension=dimension, **chosen(options, dimension))
    for _ in range(20):
        history.step()
        history.check()
    history.check_fresh()
