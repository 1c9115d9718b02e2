"""A program that kills processes while they save, and looks at what they leave: `killed_savers.py FOLDER KILLS SEED`.

For each kind of file, two contents are saved in turns, again and again, by a forked process that is killed at a random
moment. Prints, for each kind, how many of the kills fell inside a save; every other line is an error.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

import broadphase as bp
from broadphase import io
from broadphase.recording import Replay

RNG = np.random.default_rng(3)
BODIES = (400, 900)
PAIRS = [RNG.integers(0, 10**6, (count, 2)).astype(np.int32) for count in (20_000, 45_000)]


def worlds():
    for count in BODIES:
        world = bp.World(dim=2)
        world.add_many(bp.Circle(0.5), RNG.uniform(0, 40, (count, 2)), velocities=RNG.normal(0, 1, (count, 2)))
        world.step(0.1)
        yield world


def replays():
    for world in worlds():
        replay = Replay(world)
        for _ in range(3):
            replay.add(world.step(0.1))
        yield replay


def events(pairs):
    count = len(pairs) // 10
    return {
        "frame": np.arange(count), "time": np.arange(count) * 0.1, "event": ["enter"] * count,
        "first": pairs[:count, 0], "second": pairs[:count, 1],
        "first_handle": pairs[:count, 0], "second_handle": pairs[:count, 1],
        "first_layer": ["ball"] * count, "second_layer": ["wall"] * count,
    }  # fmt: skip


def kinds():
    """Yield the name of a file, and two functions that save it."""
    yield "world.bp", [world.save for world in worlds()]
    yield "run.html", [replay.save for replay in replays()]
    for name in ("pairs.npy", "pairs.npz", "pairs.csv", "pairs.parquet"):
        yield name, [lambda path, pairs=pairs: io.write_pairs(path, pairs) for pairs in PAIRS]
    for name in ("events.csv", "events.parquet"):
        yield name, [lambda path, pairs=pairs: io.write_events(path, [events(pairs)]) for pairs in PAIRS]


def save_for_ever(path, savers):
    while True:
        for save in savers:
            save(path)


def kill_savers(path, savers, kills):
    """Return how many savers were killed while they wrote; print what they broke."""
    whole, begin = [], time.perf_counter()
    for save in savers:
        save(path)
        whole.append(path.read_bytes())
    seconds = time.perf_counter() - begin
    if whole[0] == whole[1]:
        print(path.name, "is the same both times")
    inside = 0
    for number in range(kills):
        ready, tell = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(tell, b".")
            save_for_ever(path, savers)
        os.read(ready, 1)
        time.sleep(random.uniform(0, 1.2 * seconds))
        os.kill(child, signal.SIGKILL)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGKILL:
            print(path.name, number, "the saver ended by itself")
        os.close(ready)
        os.close(tell)
        if path.read_bytes() not in whole:
            print(path.name, number, "is neither the one nor the other")
        unfinished = [one for one in path.parent.iterdir() if one != path]
        for one in unfinished:
            if not (one.name.startswith(f".{path.name}.{child}-") and one.suffix == ".part"):
                print(path.name, number, "left", one.name)
            one.unlink()
        inside += bool(unfinished)
    path.unlink()
    return inside


def main(folder, kills, seed):
    random.seed(seed)
    for name, savers in kinds():
        print(name, kill_savers(folder / name, savers, kills), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
