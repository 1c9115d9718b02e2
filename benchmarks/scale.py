"""What `broadphase.scale` must hold, at full size: memory, the same pairs after many kills, and the cost of each stage.

    python -m benchmarks.scale memory             # 10^8 boxes in 2 GB; half an hour of two cores at most, 8 GB of disk
    python -m benchmarks.scale kills              # 10^7 boxes, killed at 20 random times
    python -m benchmarks.scale stages --boxes 1e6 1e7
    make scale                                    # memory and kills

Count and checksum of the pairs are compared with those of `broadphase.pairs` in memory, slab by slab: made from the
random numbers again, not read from the files. Exits with 1 if anything differs. The files are deleted at the end.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import broadphase as bp
from benchmarks.measuring import load, timed
from broadphase.testing import checksum

FILE_ROWS = 1 << 22
SLAB_ROWS = 2_000_000
MOST_WIDTH = 1.0
MOST_IN_MEMORY = 20_000_000
BESIDES = 300e6  # bytes that Python and its libraries take
MASK = 2**64 - 1

RUN = """
import json, sys, time
from dataclasses import asdict
import pyarrow.dataset, pyarrow.fs, pyarrow.parquet
from broadphase import scale
begin = time.perf_counter()
report = scale.pairs(sys.argv[1], output=sys.argv[2], memory=sys.argv[3], workers=int(sys.argv[4]))
seconds = time.perf_counter() - begin
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
print(json.dumps({**asdict(report), "seconds": seconds, "peak": peak}))
"""


@dataclass(frozen=True)
class Scene:
    """Cubes of width 0 to 1 in a cube, one for each unit of space: half a pair each. A tenth of them may be a city."""

    count: int
    city: float = 0.0

    @property
    def side(self) -> float:
        """The width of all."""
        return float(self.count ** (1 / 3))

    def parts(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield the first id, and the boxes, of one file after the other; the same each time."""
        for begin in range(0, self.count, FILE_ROWS):
            rng = np.random.default_rng(begin)
            rows = min(FILE_ROWS, self.count - begin)
            boxes = np.empty((rows, 2, 3), np.float32)
            boxes[:, 0] = rng.random((rows, 3), np.float32) * np.float32(self.side)
            dense = int(rows * self.city)
            middle, spread = self.side / 3, (self.count * self.city) ** (1 / 3) / 2
            boxes[:dense, 0] = middle + spread * rng.standard_normal((dense, 3), np.float32)
            boxes[:, 1] = boxes[:, 0] + rng.random((rows, 3), np.float32) * np.float32(MOST_WIDTH)
            yield begin, boxes

    def write(self, folder: Path) -> str:
        """Write the boxes to Parquet files, unless they are there; return their pattern."""
        pa, parquet = load("pyarrow"), load("pyarrow.parquet")
        folder.mkdir(parents=True, exist_ok=True)
        for begin, boxes in self.parts():
            path = folder / f"boxes-{begin // FILE_ROWS:04d}.parquet"
            if path.exists():
                continue
            corners = {f"{axis}{side}": boxes[:, side, k] for side in (0, 1) for k, axis in enumerate("xyz")}
            table = pa.table({"id": np.arange(begin, begin + len(boxes)), **corners})
            parquet.write_table(table, path.with_suffix(".part"), row_group_size=1 << 18, use_dictionary=False)
            path.with_suffix(".part").rename(path)
        return str(folder / "*.parquet")

    def pairs_in_memory(self) -> tuple[int, int]:
        """Return count and checksum of the pairs, from slabs along x that are wider than any box."""
        slabs = max(1, int(min(self.side / (2 * MOST_WIDTH), self.count / SLAB_ROWS)))
        found: list[list[tuple[Any, Any]]] = [[] for _ in range(slabs)]
        for begin, boxes in self.parts():
            slab = np.clip((boxes[:, 0, 0] / np.float32(self.side / slabs)).astype(np.int64), 0, slabs - 1)
            order = np.argsort(slab, kind="stable")
            ends = np.searchsorted(slab[order], np.arange(slabs + 1))
            for k in range(slabs):
                inside = order[ends[k] : ends[k + 1]]
                found[k].append(((begin + inside).astype(np.int32), boxes[inside]))
        count = total = 0
        before: tuple[Any, Any] | None = None
        for k in range(slabs):
            ids, boxes = (np.concatenate([part[side] for part in found[k]]) for side in (0, 1))
            found[k] = []
            pairs = ids[bp.pairs(boxes, workers=-1)]
            count, total = count + len(pairs), total + int(checksum(np.sort(pairs, axis=1)), 16)
            if before is not None:
                rows = np.asarray(bp.pairs(before[1], boxes, workers=-1))
                pairs = np.stack([before[0][rows[:, 0]], ids[rows[:, 1]]], axis=1)
                count, total = count + len(pairs), total + int(checksum(np.sort(pairs, axis=1)), 16)
            before = ids, boxes
        return count, total & MASK


# Seconds of a run, and of all its threads together for a box: in memory, and by way of files. Measured on two threads
# at 10^6 and 10^7 boxes, and at 10^7 in 300 MB.
FIXED, IN_MEMORY, BY_FILES = 0.14, 218e-9, 302e-9
BOX_BYTES = 32  # of three axes in float32, with an id


def predicted_seconds(
    boxes: float, *, threads: int = 2, machines: int = 1, by_files: bool = True, bandwidth: float = 1.25e9
) -> float:
    """Predict the seconds of a search.

    Parameters
    ----------
    boxes : float
        How many, in three axes, with half a pair each.
    threads, machines : int
        Cores of a machine, and machines.
    by_files : bool
        Whether boxes by tile are more than fit into memory.
    bandwidth : float
        Bytes a second between one machine and the others.
    """
    work = boxes * (BY_FILES if by_files else IN_MEMORY) / (threads * machines)
    moved = boxes * BOX_BYTES / machines * (machines - 1) / machines
    return FIXED + work + moved / bandwidth


def pairs_of_files(folder: Path) -> tuple[int, int]:
    """Return count and checksum of the pairs of an output."""
    parquet = load("pyarrow.parquet")
    count = total = 0
    for path in sorted(folder.glob("*.parquet")):
        table = parquet.read_table(path)
        pairs = np.stack([table[side].to_numpy() for side in ("first", "second")], axis=1)
        count, total = count + len(pairs), total + int(checksum(pairs), 16)
    return count, total & MASK


def command(files: str, output: Path, memory: str) -> list[str]:
    """Return the command of one run, in a process of its own."""
    return [sys.executable, "-c", RUN, files, str(output), memory, "2"]


def run(files: str, output: Path, memory: str) -> dict[str, Any]:
    """Run once, and return the report with the seconds and the peak of memory."""
    shutil.rmtree(output, ignore_errors=True)
    done = subprocess.run(command(files, output, memory), capture_output=True, text=True, check=True)
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def show(count: int, facts: dict[str, Any]) -> None:
    """Print the cost of each stage."""
    per_box = {name: f"{seconds / count * 1e9:.1f}" for name, seconds in facts["busy_seconds"].items()}
    walls = {name: f"{seconds:.2f} s" for name, seconds in facts["seconds_by_stage"].items()}
    print(f"  {count:,} boxes: {facts['seconds']:.2f} s, peak {facts['peak'] / 1e6:,.0f} MB, {facts['tiles']} tiles,")
    print(f"  {facts['copies'] / count:.2%} copies, {facts['pair_count']:,} pairs; {walls}")
    print(f"  ns a box, all threads together: {per_box}", flush=True)


def show_share(scene: Scene, seconds: float) -> None:
    """Print the time of the same pairs in memory."""
    boxes = np.concatenate([boxes for _, boxes in scene.parts()])
    times = [timed(partial(bp.pairs, boxes, workers=2))[0] for _ in range(5)]
    median = statistics.median(times)
    print(f"  in memory, two threads: {median:.2f} s; rate from files to files: {median / seconds:.0%} of that")


def check_memory(scene: Scene, memory: str, folder: Path) -> bool:
    """Find the pairs of more boxes than fit; return whether the memory was kept and the pairs are right."""
    from broadphase.scale.engine import as_bytes

    print(f"{scene.count:,} boxes in {memory}")
    files = scene.write(folder / "boxes")
    facts = run(files, folder / "pairs", memory)
    show(scene.count, facts)
    within = facts["peak"] <= as_bytes(memory, "memory") + BESIDES
    found, expected = pairs_of_files(folder / "pairs"), scene.pairs_in_memory()
    print(f"  memory {'kept' if within else 'EXCEEDED'}; pairs {found}, {'right' if found == expected else expected}")
    return within and found == expected


def check_kills(scene: Scene, memory: str, kills: int, folder: Path, seed: int) -> bool:
    """Kill a run at random times, and let it go on; return whether the pairs are right, whole files at any time."""
    parquet = load("pyarrow.parquet")
    print(f"{scene.count:,} boxes in {memory}, {kills} kills, seed {seed}")
    files, output = scene.write(folder / "boxes"), folder / "pairs"
    expected = scene.pairs_in_memory()
    whole = run(files, output, memory)["seconds"]
    draws = random.Random(seed)
    shutil.rmtree(output)
    done = runs = 0
    while done < kills:
        runs += 1
        with subprocess.Popen(command(files, output, memory), stdout=subprocess.PIPE) as process:
            try:
                process.wait(draws.uniform(0.2, 1.2) * whole)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                done += 1
        rows = sum(parquet.read_table(path).num_rows for path in output.glob("*.parquet"))  # whole, all of them
        print(f"  kill {done}: {rows:,} pairs in whole files", flush=True)
        if process.returncode == 0:
            if pairs_of_files(output) != expected:
                print("  WRONG")
                return False
            shutil.rmtree(output)
    subprocess.run(command(files, output, memory), check=True, stdout=subprocess.DEVNULL)
    found = pairs_of_files(output)
    left = sorted(path.name for path in output.iterdir() if path.suffix != ".parquet")
    print(f"  {runs} runs; pairs {found}, {'right' if found == expected else expected}; besides them {left}")
    return found == expected and left == ["_finished.jsonl", "_manifest.json", "_plan.json", "_report.json"]


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["memory", "kills", "stages"])
    parser.add_argument("--boxes", type=float, nargs="+", help="default: 10^8 for memory, 10^7 for kills")
    parser.add_argument("--memory", help="default: 2GB for memory and stages, 300MB for kills")
    parser.add_argument("--city", type=float, default=0.0, help="this share of the boxes in one dense spot")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=1, help="runs of stages, of which the median is printed")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--folder", type=Path, help="for the files, which stay; default: a temporary one")
    chosen = parser.parse_args(arguments)
    right = True
    for boxes in chosen.boxes or [1e8 if chosen.what == "memory" else 1e7]:
        scene = Scene(int(boxes), chosen.city)
        with tempfile.TemporaryDirectory(prefix="broadphase-scale-") as temporary:
            folder = (chosen.folder or Path(temporary)) / f"{scene.count}-{scene.city}"
            if chosen.what == "memory":
                right &= check_memory(scene, chosen.memory or "2GB", folder)
            elif chosen.what == "kills":
                right &= check_kills(scene, chosen.memory or "300MB", chosen.kills, folder, chosen.seed)
            else:
                files = scene.write(folder / "boxes")
                runs = [run(files, folder / "pairs", chosen.memory or "2GB") for _ in range(chosen.repeat)]
                facts = sorted(runs, key=lambda facts: float(facts["seconds"]))[len(runs) // 2]
                show(scene.count, facts)
                if scene.count <= MOST_IN_MEMORY:
                    show_share(scene, facts["seconds"])
            shutil.rmtree(folder / "pairs", ignore_errors=True)
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
