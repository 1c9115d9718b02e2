"""Random histories of an index, beside a plain account of what it must hold."""

import heapq
import pickle
from typing import Any

import numpy as np

from index_cases import (
    FLOAT64_ONLY,
    QUESTIONS,
    Asker,
    ask,
    check_pairs_of,
    check_with_the_oracle,
    generator,
    questions_of,
    random_filters,
    scene,
)
from oracles.queries import assert_same_answers

Pair = tuple[int, int]


class History:
    """An index, its boxes by row in a dict, and what has been reported of its pairs."""

    def __init__(self, kind_of_index: type, seed: int, *, kind: str, dimension: int, **options: Any) -> None:
        self.rng = generator("history", seed, kind, dimension)
        self.kind, self.dimension, self.options = kind, dimension, options
        self.dtype = "float64" if kind in FLOAT64_ONLY else str(self.rng.choice(["float32", "float64"]))
        self.label = f"{kind_of_index.__name__} seed={seed} {kind} d={dimension} {self.dtype}"
        self.log: list[str] = []
        first = self.fresh_boxes(int(self.rng.choice([0, 1, 5, 40])))
        self.index = kind_of_index(first, **options)
        self.boxes: dict[int, np.ndarray] = dict(enumerate(first))
        self.generation: dict[int, int] = dict.fromkeys(self.boxes, 0)
        self.free: list[int] = []
        self.standing: set[tuple[Pair, Pair]] = set()

    def fresh_boxes(self, count: int) -> np.ndarray:
        return scene(self.kind, self.rng, count, self.dimension, self.dtype)

    def some_rows(self) -> np.ndarray:
        rows = np.array(sorted(self.boxes), np.int64)
        share = self.rng.choice([0.05, 0.3, 1.0])
        return self.rng.permutation(rows)[: int(np.ceil(share * len(rows)))]

    def step(self) -> None:
        """Let something happen."""
        changes = [self.insert, self.remove, self.move, self.move, self.nudge, self.move_all, self.store]
        weights = np.array([3, 2, 3, 2, 3, 1, 0.5])
        change = changes[self.rng.choice(len(changes), p=weights / weights.sum())]
        self.log.append(change.__name__)
        change()

    def insert(self) -> None:
        boxes = self.fresh_boxes(int(self.rng.choice([0, 1, 2, 3, 20])))
        expected = []
        for box in boxes:
            row = heapq.heappop(self.free) if self.free else len(self.generation)
            self.generation[row] = self.generation.get(row, -1) + 1
            self.boxes[row] = box
            expected.append(row)
        assert self.index.insert(boxes).tolist() == expected, self.where()

    def remove(self) -> None:
        rows = self.some_rows()
        if len(rows) == len(self.boxes) and self.rng.random() < 0.7:
            rows = rows[: len(rows) // 2]
        self.index.remove(rows)
        for row in rows.tolist():
            del self.boxes[row]
            heapq.heappush(self.free, row)

    def move(self) -> None:
        self.update(self.some_rows())

    def nudge(self) -> None:
        """Move some a little, as from frame to frame."""
        rows = self.some_rows()
        old = np.array([self.boxes[row] for row in rows.tolist()]).reshape(-1, 2, self.dimension)
        step = self.rng.choice([0.0, 0.125, 1.0]) * self.rng.integers(-1, 2, (len(rows), 1, self.dimension))
        self.update(rows, (old + step).astype(self.dtype))

    def move_all(self) -> None:
        self.update(np.array(sorted(self.boxes), np.int64), all_rows=True)

    def update(self, rows: np.ndarray, boxes: np.ndarray | None = None, *, all_rows: bool = False) -> None:
        boxes = self.fresh_boxes(len(rows)) if boxes is None else boxes
        self.boxes.update(zip(rows.tolist(), boxes, strict=True))
        if all_rows:
            self.index.update(boxes)
        else:
            self.index.move(rows, boxes)

    def store(self) -> None:
        self.index = pickle.loads(pickle.dumps(self.index))

    def where(self) -> str:
        return f"{self.label} after {self.log}"

    def check(self) -> None:
        """Compare what the index holds and its pairs, and now and then one kind of question."""
        index, rng, where = self.index, self.rng, self.where()
        try:
            index.validate()
        except AssertionError as error:
            raise AssertionError(f"{where}: {error}") from None
        rows = sorted(self.boxes)
        assert index.rows.tolist() == rows, where
        held = np.array([self.boxes[row] for row in rows]).reshape(-1, 2, self.dimension)
        assert np.array_equal(index.boxes_of(), held), where
        check_pairs_of(index, where, **(random_filters(rng, index.slots) if rng.random() < 0.2 else {}))
        able = questions_of(index)
        if able and rng.random() < 0.5:
            name = str(rng.choice(able))
            arguments = QUESTIONS[name][2](Asker(rng, held), 6)
            expected = QUESTIONS[name][3](held, *arguments, rows=np.array(rows, np.int32))
            assert_same_answers(ask(index, name, arguments), expected, f"{where} {name}")

    def check_questions(self) -> None:
        check_with_the_oracle(self.index, self.rng, self.where())

    def check_fresh(self) -> None:
        """Compare with an index that was built of these boxes at once."""
        fresh = type(self.index)(self.index.boxes_of(), **self.options)
        assert np.array_equal(self.index.rows[fresh.pairs(sort=True)], self.index.pairs(sort=True)), self.where()

    def pairs_by_handle(self) -> set[tuple[Pair, Pair]]:
        return {self.named(pair) for pair in self.index.pairs().tolist()}

    def named(self, pair: list[int]) -> tuple[Pair, Pair]:
        one, other = ((row, self.generation[row]) for row in pair)
        return one, other

    def check_changes(self) -> None:
        """Compare the changes with the difference of the pairs before and now."""
        now = self.pairs_by_handle()
        enter, exit_ = self.index.changes()
        where = self.where()
        for found, expected in ((enter, now - self.standing), (exit_, self.standing - now)):
            rows = sorted([one[0], other[0]] for one, other in expected)
            assert found.tolist() == rows, where
        self.standing = now
