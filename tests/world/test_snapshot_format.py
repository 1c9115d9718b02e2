"""The container of snapshots: the same for the same, and ValueError for whatever else is in it."""

import hashlib
import json
import struct

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays_of

import broadphase as bp
from broadphase.world.snapshot_format import VERSION, as_json, pack, unpack

ABOUT = {"dim": 2, "names": ["wall", "ball"], "dt": 0.1, "none": None}
ARRAYS = {
    "alive": np.array([True, False, True]),
    "positions": np.array([[0.5, -0.0], [np.nan, np.inf], [1e-320, 3.0]]),
    "rows": np.array([7, 9], np.int32),
    "empty": np.empty((0, 2), np.int64),
}
SMALL = pack(ABOUT, ARRAYS)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
small_arrays = arrays_of.arrays(
    st.sampled_from([np.bool_, np.int8, np.uint16, np.int32, np.uint64, np.float32, np.float64]),
    arrays_of.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3),
)


def sealed(header: bytes, rest: bytes = b"", **fields: int) -> bytes:
    """Give a container with any header, and the checksum that belongs to it."""
    content = header + rest
    version, length, total = fields.get("version", VERSION), fields.get("length", len(header)), 56 + len(content)
    head = struct.pack("<8sIIQ", SMALL[:8], version, length, fields.get("total", total))
    return head + hashlib.sha256(head + content).digest() + content


def lying(about=None, arrays=(), rest=b""):
    return sealed(json.dumps({"about": about, "arrays": list(arrays)}).encode(), rest)


def assert_same(found, expected):
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


def test_content_comes_back_bit_for_bit_and_can_be_written_to():
    about, arrays = unpack(SMALL)
    assert about == ABOUT
    assert_same(arrays, ARRAYS)
    for array in arrays.values():
        assert array.flags.writeable
        assert array.flags.owndata


def test_two_readings_share_nothing():
    data = bytearray(SMALL)
    first, second = unpack(data)[1], unpack(data)[1]
    first["rows"][:] = 1
    data[:] = bytes(len(data))
    assert_same(second, ARRAYS)


@given(json_values, st.dictionaries(st.text(max_size=5), small_arrays, max_size=3))
def test_whatever_goes_in_comes_out_and_makes_the_same_bytes_again(about, arrays):
    data = pack(about, arrays)
    found, taken = unpack(data)
    assert found == about
    assert_same(taken, arrays)
    assert pack(found, taken) == data


def test_layout_and_byte_order_of_arrays_leave_no_trace():
    plain = np.arange(12, dtype=np.int32).reshape(3, 4)
    expected = pack(None, {"a": plain})
    for other in (plain.astype(">i4"), np.asfortranarray(plain), np.repeat(plain, 2, axis=1)[:, ::2]):
        assert pack(None, {"a": other}) == expected


def test_bytes_of_a_known_content_are_those_of_every_version():
    assert hashlib.sha256(SMALL).hexdigest() == "b6d03d3e2e8c03e1a3f9ec49991350212dfb56354b9e2331bd19889bee03d3d1"


def test_every_flipped_bit_is_noticed():
    for place in range(len(SMALL) * 8):
        data = bytearray(SMALL)
        data[place // 8] ^= 1 << place % 8
        with pytest.raises(ValueError, match="snapshot"):
            unpack(data)


def test_every_truncation_and_every_addition_is_noticed():
    for length in range(len(SMALL)):
        with pytest.raises(ValueError, match="snapshot"):
            unpack(SMALL[:length])
    for more in (b"\0", b"\0" * 8, SMALL):
        with pytest.raises(ValueError, match="followed by other bytes"):
            unpack(SMALL + more)


@given(st.data())
def test_random_mutations_are_noticed(data):
    broken = bytearray(SMALL)
    for _ in range(data.draw(st.integers(1, 4))):
        begin = data.draw(st.integers(0, len(broken)))
        end = data.draw(st.integers(begin, min(len(broken), begin + 9)))
        broken[begin:end] = data.draw(st.binary(max_size=9))
    if broken != SMALL:
        with pytest.raises(ValueError, match="snapshot"):
            unpack(broken)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"\0" * 56, b"\x93NUMPY\x01\x00" + b"\0" * 100])
def test_what_is_no_snapshot_is_called_so(data):
    with pytest.raises(ValueError, match=r"^not a broadphase snapshot"):
        unpack(data)


def test_other_versions_are_named():
    with pytest.raises(
        ValueError, match=rf"format {VERSION + 1} is not supported: this version .* reads format {VERSION}"
    ):
        unpack(sealed(b"{}", version=VERSION + 1))


LIES = {
    "no JSON": sealed(b"{"),
    "no text": sealed(b"\xff\xfe"),
    "a number": sealed(b"1"),
    "NaN": sealed(b'{"about": NaN, "arrays": []}'),
    "infinity": sealed(b'{"about": -Infinity, "arrays": []}'),
    "a key twice": sealed(b'{"about": 1, "about": 2, "arrays": []}'),
    "too deep": sealed(b'{"about": ' + b"[" * 200_000 + b"]" * 200_000 + b', "arrays": []}'),
    "too many digits": sealed(b'{"about": ' + b"9" * 5000 + b', "arrays": []}'),
    "another key": sealed(b'{"about": 1, "arrays": [], "more": 1}'),
    "a missing key": sealed(b'{"arrays": []}'),
    "arrays as a dict": sealed(b'{"about": 1, "arrays": {}}'),
    "header beyond the end": sealed(b"{}", length=2**32 - 1),
    "header of no length": sealed(b"{}", length=0),
    "length of everything": sealed(b"{}", total=2**63),
    "entry of two": lying(arrays=[["a", "<i4"]]),
    "entry as a name": lying(arrays=["abc"]),
    "name of a number": lying(arrays=[[1, "<i4", [0]]]),
    "objects": lying(arrays=[["a", "|O", [1]]], rest=b"\0" * 64),
    "big-endian": lying(arrays=[["a", ">i4", [0]]]),
    "records": lying(arrays=[["a", "<i4,<i4", [0]]]),
    "dtype as a list": lying(arrays=[["a", ["<i4"], [0]]]),
    "negative": lying(arrays=[["a", "<i4", [-1]]]),
    "a fraction": lying(arrays=[["a", "<i4", [1.0]]]),
    "a truth value": lying(arrays=[["a", "<i4", [True]]], rest=b"\0" * 64),
    "no list": lying(arrays=[["a", "<i4", 3]]),
    "five axes": lying(arrays=[["a", "<i4", [0, 0, 0, 0, 0]]]),
    "far too long": lying(arrays=[["a", "<i4", [10**30]]]),
    "overflowing": lying(arrays=[["a", "<i4", [2**32, 2**32]]]),
    "empty but overflowing": lying(arrays=[["a", "<i4", [0, 2**40, 2**40, 2**40]]]),
    "beyond the end": lying(arrays=[["a", "<i4", [100]]], rest=b"\0" * 64),
    "before the end": lying(rest=b"\0"),
    "the same name": lying(arrays=[["a", "<i4", [0]], ["a", "<i4", [0]]], rest=b"\0" * 7),
}


@pytest.mark.parametrize("what", LIES)
def test_lying_header_with_the_right_checksum_is_refused(what):
    with pytest.raises(ValueError, match="snapshot"):
        unpack(LIES[what])


def test_truth_values_are_zero_or_one_and_gaps_are_zero():
    data = pack(None, {"a": np.array([True])})
    header = data[56 : 56 + struct.unpack_from("<I", data, 12)[0]]
    gap = -len(header) % 8
    assert gap
    assert unpack(sealed(header, b"\0" * gap + b"\1"))[1]["a"].tolist() == [True]
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        unpack(sealed(header, b"\0" * gap + b"\2"))
    with pytest.raises(ValueError, match="that should be 0"):
        unpack(sealed(header, b"\1" * gap + b"\1"))


@pytest.mark.parametrize(
    "value",
    [{1: 2}, (1, 2), float("nan"), {"a": float("inf")}, {1, 2}, b"a", object(), 1j, [10**5000]],
    ids=["key", "tuple", "nan", "inf", "set", "bytes", "object", "complex", "digits"],
)
def test_what_json_cannot_say_is_a_type_error_that_names_it(value):
    with pytest.raises(TypeError, match=r"^data of row 3 "):
        as_json(value, "data of row 3")


def test_circles_and_depths_are_a_type_error():
    circle = []
    circle.append(circle)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for value in (circle, deep):
        with pytest.raises(TypeError, match="cannot be written as JSON"):
            as_json(value, "it")


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([1j]), np.array([None]), np.zeros((1,) * 5)])
def test_arrays_of_other_kinds_are_a_type_error(array):
    with pytest.raises(TypeError, match="array 'a'"):
        pack(None, {"a": array})


def test_file_comes_back_and_errors_name_it(tmp_path):
    path, world = tmp_path / "world.bp", bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1, 0]])
    world.save(path)
    assert bp.World.load(path).to_bytes() == world.to_bytes()
    path.write_bytes(world.to_bytes()[:-1])
    with pytest.raises(ValueError, match=r"world\.bp: the snapshot is truncated"):
        bp.World.load(path)
    with pytest.raises(FileNotFoundError):
        bp.World.load(tmp_path / "none.bp")


def test_write_that_fails_leaves_the_older_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "world.bp"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        bp.World(dim=2).save(path)
    assert path.read_bytes() == b"old"
    assert [found.name for found in tmp_path.iterdir()] == ["world.bp"]
