"""Find every overlapping pair of real boxes, and of moving ones frame after frame, in half a minute.

Run it by ``make run`` or ``python -m benchmarks.tour``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import broadphase as bp
from benchmarks.measuring import describe_machine, progress_bar
from benchmarks.tables import duration, grouped, show_table
from broadphase import data
from broadphase.testing import moving

if TYPE_CHECKING:
    from numpy.typing import NDArray


COLUMNS = ("scene", "boxes", "frames", "pairs", "method", "per frame", "frames/s", "brute-force tests", "per pair")
COUNTY_FRAMES = 20  # the counties do not move: repeated for a stable median


@dataclass(frozen=True, slots=True)
class Stop:
    """What was found at one stop of the tour: times in milliseconds, and the pairs of the last frame."""

    title: str
    box_count: int
    pair_counts: tuple[int, ...]
    milliseconds: tuple[float, ...]
    method: str
    reason: str

    def row(self) -> list[str]:
        """Return the cells of the table."""
        median, pairs = statistics.median(self.milliseconds), round(statistics.mean(self.pair_counts))
        tests = self.box_count * (self.box_count - 1) // 2
        return [
            self.title,
            grouped(self.box_count),
            str(len(self.milliseconds)),
            grouped(pairs),
            self.method,
            duration(median),
            grouped(round(1e3 / median)),
            grouped(tests),
            grouped(round(tests / max(1, pairs))),
        ]


def visit(
    title: str, frames: Iterable[NDArray[Any]], total: int, progress: Callable[[float, str], None] | None = None
) -> Stop:
    """Find the pairs of every frame, and note how long each took; making the frame does not count.

    Parameters
    ----------
    title : str
        What is shown.
    frames : iterable of ndarray
        The boxes of each frame.
    total : int
        How many frames there are.
    progress : callable, optional
        As in `benchmarks.pairs.compare`.

    Returns
    -------
    stop : Stop
        What was found.
    """
    counts, times, explanation, boxes = [], [], None, None
    for number, boxes in enumerate(frames):
        if explanation is None:
            explanation = bp.explain(boxes)
            bp.pairs(boxes)  # the first call of a size fetches memory from the system; the frames then reuse it
        start = time.perf_counter()
        pairs = bp.pairs(boxes)
        times.append((time.perf_counter() - start) * 1e3)
        counts.append(len(pairs))
        if progress:
            progress((number + 1) / total, title)
    if explanation is None or boxes is None:
        raise ValueError("a tour needs at least one frame")
    return Stop(title, len(boxes), tuple(counts), tuple(times), explanation.method, explanation.reason)


def frames_of(scene: str, box_count: int, frame_count: int) -> Iterator[NDArray[Any]]:
    """Return the frames of a standard scene whose boxes move by up to a tenth of their size and bounce."""
    world = moving(scene, box_count)
    for _ in range(frame_count):
        yield world.step()


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the tour and print what it found; the exit code is 1 when the counties come out wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tour", description=__doc__)
    parser.add_argument("--boxes", type=int, default=100_000, help="boxes in the large moving scene (100000)")
    parser.add_argument("--frames", type=int, default=60, help="frames of the moving scenes (60)")
    chosen = parser.parse_args(arguments)
    if chosen.boxes < 1 or chosen.frames < 1:
        parser.error("--boxes and --frames must be at least 1")

    machine = describe_machine()
    print(f"broadphase {machine['broadphase']} on {machine['processor']}, {machine['instruction sets']}, one thread")
    print()
    counties, known = data.load("us_counties"), data.describe("us_counties")
    with progress_bar() as progress:
        stops = [
            visit("US counties", [counties] * COUNTY_FRAMES, COUNTY_FRAMES, progress),
            visit("moving rectangles", frames_of("rects", 1_000, chosen.frames), chosen.frames, progress),
            visit("moving cubes", frames_of("uniform", chosen.boxes, chosen.frames), chosen.frames, progress),
        ]
    show_table(COLUMNS, [stop.row() for stop in stops], "All overlapping pairs, found in each frame")
    print("brute-force tests: n(n-1)/2 in each frame; per pair: how many of them for one pair.")
    for stop in stops:
        print(f"{stop.title}: {stop.method}, because {stop.reason}")
    found = stops[0].pair_counts[-1]
    print(f"The counties are known to have {grouped(known.pair_count)} overlapping pairs; found {grouped(found)}.")
    print(f"Source of the counties: {known.source}.")
    return 0 if found == known.pair_count else 1


if __name__ == "__main__":
    raise SystemExit(main())
