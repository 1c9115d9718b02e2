"""Views of glTF files compressed by meshopt: what any encoder may write is what is read, and damage is named."""

import random
import struct

import numpy as np
import pytest

import broadphase as bp
import meshopt_streams
from broadphase.io import read_parts
from broadphase.mesh_formats.meshopt import decompressed
from mesh_files import BOX, BOX_FACES, Gltf, triangles_of

KINDS = ("noise", "steps", "zeros", "floats")


def rows_of(kind, count, stride, rng):
    if kind == "noise":
        return rng.integers(0, 256, (count, stride), np.uint8)
    if kind == "zeros":
        return np.zeros((count, stride), np.uint8)
    if kind == "floats":
        return np.cumsum(rng.random((count, stride // 4)), axis=0).astype("<f4").view(np.uint8).reshape(count, stride)
    return np.cumsum(rng.integers(-3, 4, (count, stride)), axis=0).astype(np.uint8)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stride", [4, 8, 12, 20, 256])
def test_attributes_are_read_as_they_were(version, kind, stride):
    rng = np.random.default_rng(stride)
    for count in (1, 2, 15, 16, 17, 31, 32, 33, 255, 256, 257, 300):
        rows = rows_of(kind, count, stride, rng)
        stream = meshopt_streams.attributes(rows, version, random.Random(count))
        assert decompressed(stream, count, stride, "ATTRIBUTES", "NONE") == rows.tobytes()


def test_example_of_the_specification():
    """16 deltas in 4 bits, of which two follow as bytes."""
    body = bytes([0x17, 0x5F, 0xF0, 0xBC, 0x77, 0xA9, 0x21, 0x00, 0x34, 0xB5])
    stream = b"\xa0" + b"\x02" + body + 3 * b"\x00" + bytes(32)
    rows = np.frombuffer(decompressed(stream, 16, 4, "ATTRIBUTES", "NONE"), np.int8).reshape(16, 4)
    deltas = [-1, -4, -3, 26, -91, 0, -6, 6, -4, -4, 5, -5, 1, -1, 0, 0]
    np.testing.assert_array_equal(rows[:, 0], np.cumsum(deltas).astype(np.int8))
    assert not rows[:, 1:].any()


def grid(size, rng):
    """Triangles of a grid in rows, whose vertices are numbered as they come."""
    number = np.arange(size * size).reshape(size, size)
    a, b, c, d = (one.ravel() for one in (number[:-1, :-1], number[1:, :-1], number[:-1, 1:], number[1:, 1:]))
    faces = np.stack([np.stack([a, b, c], 1), np.stack([c, b, d], 1)], 1).reshape(-1, 3)
    _, first, inverse = np.unique(faces, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse].reshape(-1, 3) if rng.random() < 0.7 else rng.permutation(size * size)[faces]


@pytest.mark.parametrize("seed", range(40))
def test_triangles_are_read_as_they_were(seed):
    rng, draw = np.random.default_rng(seed), random.Random(seed)
    faces = rng.integers(0, 30, (50, 3)) if seed % 4 == 0 else grid(int(rng.integers(2, 12)), rng)
    faces = np.concatenate([faces, [[0, 1, 2]], faces]) if seed % 3 == 0 else faces
    stream, expected = meshopt_streams.triangles(faces, draw)
    for stride in (2, 4):
        found = decompressed(stream, 3 * len(faces), stride, "TRIANGLES", "NONE")
        assert np.frombuffer(found, f"<u{stride}").reshape(-1, 3).tolist() == expected


def test_long_streams_of_triangles_keep_only_the_recent_edges():
    faces = grid(60, np.random.default_rng(1))
    stream, expected = meshopt_streams.triangles(faces, random.Random(1))
    found = np.frombuffer(decompressed(stream, faces.size, 4, "TRIANGLES", "NONE"), "<u4")
    assert found.reshape(-1, 3).tolist() == expected


@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_indices_are_read_as_they_were(count):
    values = np.random.default_rng(count).integers(0, 2**30, count)
    stream = meshopt_streams.indices(values, random.Random(count))
    assert np.frombuffer(decompressed(stream, count, 4, "INDICES", "NONE"), "<u4").tolist() == values.tolist()
    assert np.frombuffer(decompressed(stream, count, 2, "INDICES", "NONE"), "<u2").tolist() == (values % 2**16).tolist()


def test_filters_are_those_of_the_specification():
    numbers = [(-3, 5), (0, -7), (20, 1), (-100, -(2**23)), (-1, 2**23 - 1)]
    rows = np.array([(e << 24) | (m & 0xFFFFFF) for e, m in numbers], np.int64).astype("<u4").view(np.uint8)
    stream = meshopt_streams.attributes(rows.reshape(-1, 4), 0, random.Random(0))
    found = np.frombuffer(decompressed(stream, len(numbers), 4, "ATTRIBUTES", "EXPONENTIAL"), "<f4")
    assert found.tolist() == [m * 2.0**e for e, m in numbers]
    rng = np.random.default_rng(0)
    turns = rng.normal(size=(200, 4))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    rows = []
    for turn in turns:
        most = int(np.argmax(np.abs(turn)))
        turn = turn * np.sign(turn[most])
        one = (1 << int(rng.integers(11, 15))) - 1
        three = [round(turn[(most + k) % 4] * 2**0.5 * one) for k in (1, 2, 3)]
        rows.append(struct.pack("<4h", *three, one & ~3 | most))
    stream = meshopt_streams.attributes(np.frombuffer(b"".join(rows), np.uint8).reshape(-1, 8), 1, random.Random(0))
    found = np.frombuffer(decompressed(stream, 200, 8, "ATTRIBUTES", "QUATERNION"), "<i2").reshape(-1, 4) / 32767
    assert np.abs(np.abs((found * turns).sum(axis=1)) - 1).max() < 1e-3


@pytest.mark.parametrize(
    ("mode", "stride", "kind", "message"),
    [
        ("ATTRIBUTES", 6, "NONE", "byteStride must be a multiple of 4"),
        ("ATTRIBUTES", 260, "NONE", "byteStride must be a multiple of 4"),
        ("TRIANGLES", 3, "NONE", "indices must have 2 or 4 bytes"),
        ("INDICES", 4, "EXPONENTIAL", "indices must have 2 or 4 bytes and no filter"),
        ("POINTS", 4, "NONE", "mode must be 'ATTRIBUTES', 'TRIANGLES' or 'INDICES', not 'POINTS'"),
        (None, 4, "NONE", "mode must be"),
        ("ATTRIBUTES", 4, "OCTAHEDRAL", "the filter 'OCTAHEDRAL' of elements of 4 bytes"),
        ("ATTRIBUTES", 4, 3, "the filter 3 of"),
    ],
)
def test_what_is_no_view_is_refused(mode, stride, kind, message):
    stream = meshopt_streams.attributes(np.zeros((3, 4), np.uint8), 0, random.Random(0))
    with pytest.raises(bp.errors.FileFormatError, match=message):
        decompressed(stream, 3, stride, mode, kind)


def test_damaged_streams_are_refused_or_read_but_never_worse():
    draw = random.Random(5)
    rng = np.random.default_rng(5)
    rows, faces = rows_of("steps", 70, 12, rng), grid(6, rng)
    streams = [
        (meshopt_streams.attributes(rows, 0, draw), 70, 12, "ATTRIBUTES"),
        (meshopt_streams.attributes(rows, 1, draw), 70, 12, "ATTRIBUTES"),
        (meshopt_streams.triangles(faces, draw)[0], faces.size, 4, "TRIANGLES"),
        (meshopt_streams.indices(faces, draw), faces.size, 4, "INDICES"),
    ]
    refused = 0
    for stream, count, stride, mode in streams:
        for length in range(len(stream)):
            with pytest.raises(bp.errors.FileFormatError):
                decompressed(stream[:length], count, stride, mode, "NONE")
        for more in (stream + b"\0", b"", stream[:1]):
            with pytest.raises(bp.errors.FileFormatError):
                decompressed(more, count, stride, mode, "NONE")
        for _ in range(2000):
            changed = bytearray(stream)
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
            try:
                assert len(decompressed(bytes(changed), count, stride, mode, "NONE")) == count * stride
            except bp.errors.FileFormatError:
                refused += 1
    assert refused > 1000


def compress(made, name, *, fallback=True):
    """Compress the views of positions and indices of a file; the numbers themselves are kept if `fallback`."""
    draw = random.Random(len(made.body))
    original, made.body = made.body, b""
    for accessor in made.tree["accessors"]:
        view = made.tree["bufferViews"][accessor["bufferView"]]
        content = original[view["byteOffset"] : view["byteOffset"] + view["byteLength"]]
        count = accessor["count"]
        stride = view.get("byteStride", len(content) // count)
        if accessor["type"] == "SCALAR":
            stream, _ = meshopt_streams.triangles(np.frombuffer(content, f"<u{stride}").reshape(-1, 3), draw)
            mode = "TRIANGLES"
        else:
            version = int(name.startswith("KHR"))
            stream = meshopt_streams.attributes(np.frombuffer(content, np.uint8).reshape(-1, stride), version, draw)
            mode = "ATTRIBUTES"
        at = len(made.body)
        made.body += stream
        view |= {"buffer": 1, "byteOffset": 0 if not fallback else view["byteOffset"]}
        view["extensions"] = {
            name: {
                "buffer": 0, "byteOffset": at, "byteLength": len(stream), "byteStride": stride, "count": count,
                "mode": mode,
            }
        }  # fmt: skip
    return original


@pytest.mark.parametrize("name", ["EXT_meshopt_compression", "KHR_meshopt_compression"])
@pytest.mark.parametrize("is_required", [True, False])
def test_parts_of_compressed_files_are_those_of_the_file(tmp_path, name, is_required):
    made = Gltf()
    made.node(made.primitive(BOX, BOX_FACES), name="house")
    whole = np.rint(BOX * 32767)
    made.node(made.primitive(BOX, BOX_FACES), name="other")
    rows = np.zeros((8, 4), "<i2")
    rows[:, :3] = whole
    view = made.view(rows.tobytes(), byteStride=8)
    position = made.add(
        "accessors",
        bufferView=view,
        componentType=5122,
        normalized=True,
        count=8,
        type="VEC3",
        min=[0] * 3,
        max=[1] * 3,
    )
    corners = made.accessor(np.ravel(BOX_FACES), "u2")
    made.node({"attributes": {"POSITION": position}, "indices": corners}, name="quantized", scale=[4, 4, 4])
    compress(made, name)
    made.tree["extensionsUsed"] = [name, "KHR_mesh_quantization"]
    made.tree["extensionsRequired"] = [name, "KHR_mesh_quantization"] if is_required else ["KHR_mesh_quantization"]
    (tmp_path / "file.glb").write_bytes(made.as_glb(more_buffers=[{"byteLength": 4096}]))
    parts = read_parts(tmp_path / "file.glb").parts
    assert [part.name for part in parts] == ["house", "other", "quantized"]
    for part, size in zip(parts, (1, 1, 4), strict=True):
        assert triangles_of(part.placed_vertices(), part.faces) == triangles_of(BOX * size, BOX_FACES)
        assert bp.Mesh(part.vertices, part.faces).is_watertight


def test_damage_names_the_view_and_declared_sizes_are_not_believed(tmp_path):
    for change, message in (
        ({"count": 100}, "bufferView 0, compressed by meshopt: "),
        ({"count": 10**9}, r"bufferView 0, compressed by meshopt: 1,000,000,000 elements of 12 bytes, in a file of"),
        ({"byteLength": 10}, "bufferView 0, compressed by meshopt: the stream is cut off"),
        ({"byteLength": 10**6}, "bufferView 0, compressed by meshopt ends at byte 1000000"),
        ({"mode": "INDICES"}, "bufferView 0, compressed by meshopt: indices must have 2 or 4 bytes"),
        ({"buffer": 1}, "buffer 1 has no data"),
    ):
        made = Gltf()
        made.node(made.primitive(BOX, BOX_FACES), name="house")
        compress(made, "EXT_meshopt_compression")
        made.tree["bufferViews"][0]["extensions"]["EXT_meshopt_compression"] |= change
        made.tree["extensionsRequired"] = ["EXT_meshopt_compression"]
        (tmp_path / "file.glb").write_bytes(made.as_glb(more_buffers=[{"byteLength": 4096}]))
        with pytest.raises(bp.errors.FileFormatError, match=rf"file\.glb: {message}"):
            read_parts(tmp_path / "file.glb")
