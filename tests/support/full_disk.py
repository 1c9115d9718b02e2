"""A program that writes every kind of file to a disk that is full, and to one that is read-only, real ones.

    unshare --map-root-user --mount python full_disk.py FOLDER TRIES

A small tmpfs is mounted on the folder, in a mount namespace of this process. For each kind of file, from 0 pages up to
one too few are free; with fewer than 20 tries, only one command is tried. Prints, for each kind, how many writes were
refused; every other line is an error. Refused means: an OSError that names the file, the older file as it was, nothing
beside it.
"""

import errno
import os
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np

import broadphase as bp
from broadphase import cli, io, scale
from broadphase.scale import local
from killed_savers import kinds

PAGE = 4096
RNG = np.random.default_rng(5)


def fill(path, free):
    """Fill the disk but for so many pages."""
    with path.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(PAGE))
        except OSError:
            pages = stream.tell() // PAGE
        stream.truncate(max(0, pages - free) * PAGE)


def pages_of(path):
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return sum(-(-one.stat().st_size // PAGE) for one in files)


def refusals(path, write, tries, failed):
    """Return how many writes of `path` were refused; print what they broke. `failed`: raises what `write` gives."""
    write(path)
    whole, refused = pages_of(path), 0
    filler = path.with_name("filler")
    path.write_bytes(b"old")
    for free in sorted({0, *np.linspace(0, whole - 1, tries).astype(int).tolist()}):
        fill(filler, free)
        try:
            failed(write(path))
            print(path.name, free, "there was room")
        except OSError as error:
            refused += 1
            if error.errno != errno.ENOSPC or str(path) not in str(error):
                print(path.name, free, "error:", repr(error))
        if path.read_bytes() != b"old":
            print(path.name, free, "the older file is gone")
        for one in set(path.parent.iterdir()) - {path, filler}:
            print(path.name, free, "left", one.name)
            one.unlink()
        filler.unlink()
    subprocess.run(["mount", "-o", "remount,ro", str(path.parent)], check=True)
    try:
        failed(write(path))
        print(path.name, "the folder was read-only")
    except OSError as error:
        if error.errno != errno.EROFS or str(path) not in str(error):
            print(path.name, "in a read-only folder, error:", repr(error))
    subprocess.run(["mount", "-o", "remount,rw", str(path.parent)], check=True)
    if path.read_bytes() != b"old":
        print(path.name, "the older file is gone from a read-only folder")
    path.unlink()
    return refused


def clash_reports(folder):
    """Yield the name of a report of clashes, and a function that writes it."""
    import trimesh

    scene = trimesh.Scene()
    for number, place in enumerate(RNG.uniform(0, 3, (60, 3))):
        pose = np.eye(4)
        pose[:3, 3] = place
        scene.add_geometry(trimesh.creation.box((1, 1, 1)), node_name=f"part {number}", transform=pose)
    scene.export(folder / "parts.glb")
    file = io.read_parts(folder / "parts.glb")
    solids = [bp.Mesh(part.vertices, part.faces) for part in file.parts]
    clashes = bp.clashes(bp.Shapes(solids, np.zeros((len(solids), 3))))
    for suffix in io.CLASH_FORMATS:
        yield f"clashes{suffix}", lambda path: io.write_clashes(path, clashes, [file])


def commands(folder):
    """Yield the name of a file, and a command that writes it."""
    boxes = np.zeros((20_000, 2, 2))
    boxes[:, 0] = RNG.uniform(0, 100, (20_000, 2))
    boxes[:, 1] = boxes[:, 0] + 1
    np.save(folder / "boxes.npy", boxes.reshape(-1, 4))
    run = ["run", "bouncing_rectangles", "--steps", "300", "--quiet"]
    yield "events.csv", [*run, "--stay", "--events"]
    yield "pairs.csv", ["pairs", str(folder / "boxes.npy"), "--output"]
    yield "clash.html", ["clash", str(folder / "parts.glb"), "--output"]
    yield "replay.html", [*run, "--replay"]


def command_failed(answer):
    """Raise what a command has reported."""
    code, message = answer
    if code != 1 or "Traceback" in message or message.count("\n") != 1:
        print("the command ended with", code, message)
    for number in (errno.ENOSPC, errno.EROFS):
        if message.endswith(f": {os.strerror(number)}\n"):
            raise OSError(number, message)


def run_command(arguments):
    done = subprocess.run([sys.executable, "-m", cli.__name__, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def refusals_of_tiles(folder, boxes, tries):
    """The same for `scale.pairs`, whose results are a folder; with room again, a run ends with the right answer."""
    output, filler, refused = folder / "pairs", folder / "filler", 0

    def run():
        return scale.pairs(boxes, output=output, id=None, lower=["x", "y"], upper=["X", "Y"], workers=1)

    whole = run()
    pages = pages_of(output)
    shutil.rmtree(output)
    for free in sorted({0, *np.linspace(0, pages - 1, tries).astype(int).tolist()}):
        fill(filler, free)
        try:
            run()
            print("tiles", free, "there was room")
        except OSError as error:
            refused += 1
            if error.errno != errno.ENOSPC or str(output) not in str(error):
                print("tiles", free, "error:", repr(error))
        for one in output.rglob("*.part"):
            print("tiles", free, "left", one.name)
        if output.exists() and not any(output.glob("*.parquet")):
            print("tiles", free, "left a folder without results:", sorted(one.name for one in output.iterdir()))
        filler.unlink()
        if run().pair_count != whole.pair_count:
            print("tiles", free, "other pairs than there are")
        shutil.rmtree(output)
    return refused


def main(folder, tries):
    inputs = folder.with_name("inputs")
    inputs.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], check=True)
    for name, savers in kinds():
        print(name, refusals(folder / name, savers[1], tries, lambda answer: None), flush=True)
    for name, write in clash_reports(inputs):
        print(name, refusals(folder / name, write, tries, lambda answer: None), flush=True)
    for name, command in islice(commands(inputs), None if tries >= 20 else 1):
        write = lambda path, command=command: run_command([*command, str(path)])  # noqa: E731
        print(f"command:{name}", refusals(folder / name, write, 2 + tries // 20, command_failed), flush=True)
    local.Sizes.of = lambda *_: local.Sizes(piece_rows=5000, tile_rows=2000, chunk_pairs=1000, in_memory=False)
    print("tiles", refusals_of_tiles(folder, inputs / "boxes.npy", tries), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
