"""A program that does a little of everything: `python odd_places.py FOLDER`. Prints what came of it, the same anywhere.

Files go to the folder; the current one may be read-only. `--no-large-pages` and `--one-core` set up this process.
"""

import ctypes
import hashlib
import locale
import os
import sys
from pathlib import Path

PR_SET_THP_DISABLE = 41


def main(folder):
    locale.setlocale(locale.LC_ALL, "")  # as programs with windows do; numbers get commas in some
    import numpy as np

    import broadphase as bp
    from broadphase import cli, io, scale, scenes
    from broadphase.recording import Replay
    from broadphase.testing import make_scene

    def show(name, value):
        content = value if isinstance(value, bytes) else repr(value).encode()
        print(name, hashlib.sha256(content).hexdigest()[:16], len(content))

    boxes = make_scene("uniform", 100_000)  # more than a large page
    for method in ("auto", *(row.name for row in bp.METHODS)):
        some = boxes[:3000] if method == "brute_force" else boxes
        show(method, bp.pairs(some, method=method, workers=-1, sort=True).tobytes())
    points = np.ascontiguousarray(boxes[:5000, 0])
    show("neighbors", bp.neighbors(points, 0.3, workers=-1, sort=True).pairs.tobytes())
    show("nearest", bp.Index(boxes[:5000]).nearest(points[:100], k=3).rows.tobytes())

    world = scenes.load("bouncing_rectangles").build()
    replay = Replay(world, title="Şişe")
    for _ in range(3):
        replay.add(world.step(0.015625))
    replay.save(folder / "page.html")
    world.save(folder / "world.bp")
    show("world", bp.World.load(folder / "world.bp").positions.tobytes())

    small, names = boxes[:500], [f"Ğ{row}ş" for row in range(500)]
    rows = "".join(
        f'"{name}",' + ",".join(map(repr, box.ravel().tolist())) + "\n" for name, box in zip(names, small, strict=True)
    )
    (folder / "boxes.csv").write_text("name,xmin,ymin,zmin,xmax,ymax,zmax\n" + rows, "utf-8")
    read = io.read_boxes(folder / "boxes.csv")
    show("boxes", read.boxes.tobytes())
    for suffix in (".csv", ".parquet", ".npz"):
        io.write_pairs(folder / f"pairs{suffix}", bp.pairs(small, sort=True))
        show(suffix, (folder / f"pairs{suffix}").read_bytes() if suffix != ".npz" else None)
    np.save(folder / "boxes.npy", small.reshape(-1, 6))
    show("scale", scale.pairs(folder / "boxes.npy", output=folder / "tiles", id=None).pair_count)

    file = str(folder / "boxes.csv")
    for command in (
        ["pairs", file, "--names", "name", "--sort", "--output", str(folder / "named.csv")],
        ["pairs", file, "--margin", "0.5", "--json"], ["pairs", "us_counties"], ["count", "us_counties", "--json"],
        ["info", file], ["info"], ["explain", file], ["run", "--list"],
        ["demo", "--list"], ["--help"], ["pairs", "--help"],
        ["run", "bouncing_rectangles", "--steps", "5", "--events", str(folder / "events.csv"), "--json"],
        ["run", "bouncing_rectangles", "--steps", "5"], ["count", str(folder / "none.csv")],
    ):  # fmt: skip
        print(command[0], "ended with", end=" ", flush=True)
        code = cli.main(command)
        print("\nexit code", code)
    for name in ("named.csv", "events.csv"):
        show(name, (folder / name).read_bytes())


if __name__ == "__main__":
    if "--no-large-pages" in sys.argv:
        assert ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0
    if "--one-core" in sys.argv:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    main(Path(sys.argv[1]))
