"""What reads bytes from outside, each as a function of bytes: it has a result that is sound, or an error of ours.

`run.py` lets Atheris look for bytes that give anything else, `test_fuzz_corpus.py` replays what was found so far.
"""

import hashlib
import json
import struct
import warnings

import numpy as np

import broadphase as bp
from broadphase import io, scenes
from broadphase.world import snapshot_format

OURS = (bp.errors.FileFormatError, bp.errors.MissingExtraError)


def check_message_of(error, path=""):
    """Check that an error names the file, and that its message ends."""
    assert str(path) in str(error), error
    assert len(str(error)) < len(str(path)) + 10_000, "an endless message"


def check_boxes(data, folder, suffix):
    """Read the boxes of a file, whole and by parts; of meshes, also the parts."""
    path = folder / f"a{suffix}"
    path.write_bytes(data)
    for parts in (False, True):
        try:
            file = io.read_boxes(path, parts=parts)
        except OURS as error:
            check_message_of(error, path)
            continue
        n, two, d = file.boxes.shape
        assert two == 2
        assert 1 <= d <= 4
        assert file.boxes.dtype in (np.float32, np.float64)
        assert file.names is None or len(file.names) == n
        assert file.owners is None or len(file.owners) == n
        if n < 1000:
            bp.pairs(file.boxes, invalid="skip")
    if suffix in MESHES:
        try:
            found = io.read_parts(path)
        except OURS:
            return
        for part in found.parts:
            assert np.isfinite(part.vertices).all()
            assert part.faces.min(initial=0) >= 0
            assert part.faces.max(initial=-1) < len(part.vertices)


def check_scene(data, folder, suffix):
    """Read a scene, make its world if that is small, and make a step."""
    path = folder / f"a{suffix}"
    path.write_bytes(data)
    try:
        scene = scenes.load(path)
    except OURS as error:
        check_message_of(error, path)
        return
    rules = [rule for rule in scene.rules if hasattr(rule, "count")]
    if sum(one.count for one in (*scene.groups, *rules)) > 2000:
        return
    try:
        run = scene.start()
        run.step()
    except ValueError:  # what only the bodies tell, as that one is wider than the world in which it wraps
        return
    run.world.validate()


def check_snapshot(data, folder, suffix):
    """Read a snapshot whose length and checksum are right, use the world, and save it again."""
    try:
        world = bp.World.from_bytes(sealed(data))
    except ValueError as error:
        check_message_of(error)
        return
    try:
        world.validate()
    except AssertionError as error:
        if "by memory.touching" in str(error):  # which pairs touched is believed
            return
        raise
    again = bp.World.from_bytes(world.to_bytes())
    assert again.to_bytes() == world.to_bytes()
    if len(world) < 500 and b'"workers":1,' in data:
        try:
            world.step(0.125)
        except ValueError:  # of a pose that its user has written, and that a step refuses
            return
        world.validate()


def check_message(data, folder, suffix):
    """Read what a page of the demo sends, and write it again."""
    from broadphase.demo.messages import RefusedError, read_message, write_message

    try:
        message = read_message(data)
    except RefusedError:
        return
    if message is not None:
        write_message(message)


def check_upload(data, folder, suffix):
    """Read the mesh that a page of the demo sends: what the process of its own does."""
    from broadphase.demo import mesh_files

    if mesh_files.fault_of_file(f"a{suffix}", len(data)) or not mesh_files.MESH_SUFFIXES[suffix](data):
        return
    head, _, block = mesh_files._answer(suffix, data).partition(b"\n")
    facts = json.loads(head)
    if "error" not in facts:
        vertices = np.frombuffer(block, np.float32, 3 * facts["vertices"])
        faces = np.frombuffer(block, np.uint32, 3 * facts["faces"], vertices.nbytes)
        assert np.isfinite(vertices).all()
        assert faces.max() < facts["vertices"]


def sealed(content):
    """Give a snapshot the length and the checksum that it should have."""
    header = int.from_bytes(content[:2], "little")
    body = content[2:]
    head = struct.pack("<8sIIQ", snapshot_format.MAGIC, snapshot_format.VERSION, header, 56 + len(body))
    return head + hashlib.sha256(head + body).digest() + body


def unsealed(snapshot):
    """Take from a snapshot what `sealed` puts there."""
    return snapshot[12:14] + snapshot[56:]


MESHES = (".obj", ".stl", ".ply", ".glb", ".gltf")
TABLES = (".npy", ".npz", ".csv", ".parquet", ".geojson", ".geojsonl", ".fgb", ".shp", ".gpkg")
# By name: the function, and the ending of the file.
TARGETS = {
    **{suffix.removeprefix("."): (check_boxes, suffix) for suffix in (*TABLES, *MESHES)},
    "toml": (check_scene, ".toml"),
    "json": (check_scene, ".json"),
    "snapshot": (check_snapshot, ""),
    "message": (check_message, ""),
    **{f"upload_{suffix.removeprefix('.')}": (check_upload, suffix) for suffix in (".stl", ".obj", ".ply", ".glb")},
}


def replay(name, data, folder):
    """Give bytes to a target."""
    check, suffix = TARGETS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(data, folder, suffix)
