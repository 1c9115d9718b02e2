"""Arrow data and array interfaces with damaged buffers, offered to every function that reads such.

`python -m damaged_buffers BEGIN END` tries these seeds and prints each before it, so that a crash is named.
"""

import datetime as dt
import random
import re
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import broadphase as bp

ROWS = 7
TEXTS = ["a", None, "chromosome 1", "", "a text of more than twelve bytes", "a", "\u00e9"]
NUMBERS = [0, 1, None, 3, 4, 5, 6]
#: What offsets, indices and lengths are replaced by.
WORDS = [-1, 0, 1, 2, 3, 255, 256, 2**15, 2**31 - 1, -(2**31), 2**40, 2**62, -(2**63), 2**63 - 1]

#: Doors that are given a column by itself.
WITHOUT_NAMES = ("pairs", "one chunk", "as_numbers", "geometries", "batch", "pandas column")


def arrays():
    """Return sound arrays of all layouts of Arrow, by name."""
    made = {
        "int64": pa.array(NUMBERS, pa.int64()),
        "float64": pa.array(NUMBERS, pa.float64()),
        "float32": pa.array(range(ROWS), pa.float32()),
        "bool": pa.array([True, None, False] * 2 + [True]),
        "decimal": pa.array([Decimal(x or 0) for x in NUMBERS], pa.decimal128(9, 0)),
        "time": pa.array([dt.datetime(2026, 1, 1 + k) for k in range(ROWS)]),
        "list": pa.array([[k, k, k + 1, k + 1] for k in range(ROWS)], pa.list_(pa.float64())),
        "large list": pa.array([[k, k, k + 1, k + 1] for k in range(ROWS)], pa.large_list(pa.float32())),
        "fixed list": pa.array([None, *([k, k, k + 1, k + 1] for k in range(1, ROWS))], pa.list_(pa.float64(), 4)),
        "nested": pa.array([[[k, k], [k + 1, k + 1]] for k in range(ROWS)], pa.list_(pa.list_(pa.float64(), 2))),
        "struct": pa.array([{"xmin": k, "ymin": k, "xmax": k + 1, "ymax": k + 1} for k in range(ROWS)]),
        "struct of lists": pa.array([{"lower": [k, k], "upper": [k + 1.0, k + 1.0]} for k in range(ROWS)]),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 5, ROWS], pa.int32()), pa.array([0, 1, None])),
        "numbers by dictionary": pa.array(NUMBERS).dictionary_encode(),
        "list view": pa.array([[k, k, k + 1, k + 1] for k in range(ROWS)], pa.list_view(pa.float64())),
        "union": pa.UnionArray.from_dense(
            pa.array([0, 1] * 3 + [0], pa.int8()),
            pa.array([0, 0, 1, 1, 2, 2, 3], pa.int32()),
            [pa.array(range(4)), pa.array(["a"] * 3)],
        ),
        "binary": pa.array([None if text is None else text.encode() for text in TEXTS]),
    }
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        made[str(kind)] = pa.array(TEXTS, kind)
    for kind in (pa.dictionary(pa.uint32(), pa.large_string()), pa.dictionary(pa.int64(), pa.string())):
        made[str(kind)] = pa.array(TEXTS).cast(kind)
    return made


def damaged_bytes(rng, data, begins, ends):
    """Change some numbers or bytes of data within these stretches."""
    broken = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        place = rng.randrange(len(begins))
        size = ends[place] - begins[place]
        if not size:
            continue
        width = rng.choice([1, 4, 4, 4, 8])
        at = begins[place] + rng.randrange(size) // width * width
        if at + width <= ends[place]:
            word = rng.choice([rng.choice(WORDS), rng.getrandbits(64)]) % (1 << 8 * width)
            broken[at : at + width] = word.to_bytes(width, "little")
    return bytes(broken)


def through_a_file(rng, table):
    """Return a table as read from a stream of Arrow, some of whose buffers are damaged."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=rng.choice([3, 100]))
    data = sink.getvalue()
    begins, ends = [], []
    messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(data))
    messages.read_next_message()  # the schema
    while True:
        try:
            body = messages.read_next_message().body
        except StopIteration:
            break
        if body is not None and body.size:
            begins.append(body.address - data.address)
            ends.append(begins[-1] + body.size)
    # A sound schema and sound sizes of messages: what pyarrow itself reads of a damaged file is not tried here.
    return pa.ipc.open_stream(damaged_bytes(rng, data.to_pybytes(), begins, ends)).read_all()


def with_other_sizes(rng, array):
    """Return an array whose length or offset is wrong, or whose buffers are cut; of flat layouts."""
    buffers = array.buffers()
    length, offset = len(array), array.offset
    what = rng.randrange(3)
    if what == 0:
        length = rng.choice([length + 1, length + 60, 1000, 10**6])
    elif what == 1:
        offset = rng.choice([1, 2, 60, 1000, 10**6])
    place = rng.randrange(len(buffers))
    if what == 2 and buffers[place] is not None:
        buffers[place] = buffers[place].slice(0, rng.randrange(buffers[place].size + 1))
    return pa.Array.from_buffers(array.type, length, buffers, rng.choice([-1, -1, 0, 3]), offset)


def damaged(rng):
    """Return a table with a column `x` that is damaged, and sound columns `lo` and `hi`."""
    name, array = rng.choice(list(arrays().items()))
    begin = rng.choice([0, 0, 2])
    ends = {"lo": pa.array(range(ROWS)), "hi": pa.array(range(1, ROWS + 1))}
    table = pa.table({**ends, "x": array}).slice(begin)
    if rng.random() < 0.3 and not array.type.num_fields and not pa.types.is_dictionary(array.type):
        return name, pa.table({**ends, "x": with_other_sizes(rng, array.slice(begin)).slice(0, ROWS)})
    return name, through_a_file(rng, table)


def doors(table):
    """Return the calls that read a column."""
    column = table.column("x")
    ends = {"lower": "lo", "upper": "hi"}
    yield "by", lambda: bp.join(table, table, **ends, by="x", keep=["lo"])
    yield "corners", lambda: bp.join(table, table, lower="x", upper="x", keep=["lo"])
    yield "kept", lambda: bp.join(table, table, **ends, how="left")
    if len(column.chunks) == 1:
        batch = pa.RecordBatch.from_pydict({"lo": table.column("lo").chunk(0), "hi": table.column("hi").chunk(0)})
        batch = batch.append_column("x", column.chunk(0))
        yield "record batch", lambda: bp.join(batch, batch, **ends, by="x")
        yield "boxes of a record batch", lambda: bp.boxes.as_boxes(batch.select(["x"]))
    yield "counted", lambda: bp.join(table, table, **ends, count=True)
    yield "pairs", lambda: bp.pairs(column)
    yield "one chunk", lambda: bp.pairs(column.chunk(0))
    yield "as_numbers", lambda: bp.boxes.as_numbers(column, name="x")
    yield "table", lambda: bp.boxes.as_boxes(table.select(["x"]))
    yield "frame", lambda: bp.boxes.from_frame(table, lower=["x"], upper=["x"])
    yield "geometries", lambda: bp.boxes.from_geometries(column)
    yield "batch", lambda: bp.pairs(np.zeros((ROWS, 2, 2)), batch=column)
    try:
        import pandas as pd

        frame = pd.DataFrame({"lo": range(len(table)), "hi": range(len(table))})
        frame["x"] = pd.arrays.ArrowExtensionArray(column)
    except Exception:  # pandas cannot hold it
        return
    yield "pandas by", lambda: bp.join(frame, frame, **ends, by="x", keep=["lo"])
    yield "pandas corners", lambda: bp.join(frame, frame, lower="x", upper="x", keep=["lo"])
    yield "pandas kept", lambda: bp.join(frame, frame, **ends, how="left")
    yield "pandas frame", lambda: bp.boxes.from_frame(frame, lower=["x"], upper=["x"])
    yield "pandas column", lambda: bp.boxes.as_numbers(frame["x"], name="x")


def by_scale(table, folder):
    """Write a table as it is to a file of Arrow, and find pairs of its rows out of core."""
    from broadphase import scale

    path = folder / "boxes.arrow"
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    columns = {"lower": ["lo"], "upper": ["hi"]}
    yield "scale, kept", lambda: scale.pairs(path, output=folder / "out", id=None, keep=["x"], resume=False, **columns)
    yield "scale, id", lambda: scale.pairs(path, output=folder / "out", id="x", resume=False, **columns)


def check(seed, folder=None):
    """Offer data with damaged buffers to all doors: each answers, or raises an error of this package that helps."""
    rng = random.Random(seed)
    try:
        name, table = damaged(rng)
    except (pa.ArrowException, ValueError):  # pyarrow has found the damage
        return 0
    refused = 0
    calls = [*doors(table), *(by_scale(table, folder) if folder is not None else [])]
    for door, call in calls:
        try:
            call()
            error = None
        except (ValueError, TypeError, MemoryError) as raised:
            error = raised
        assert not isinstance(error, pa.ArrowException), (seed, name, door, error)
        if "damaged" in str(error):
            refused += 1
            assert re.search(r"column '?x\b", str(error)) or door in WITHOUT_NAMES, (seed, name, door, error)
    return refused


class Interface:
    """An object with the array interface, over a buffer."""

    def __init__(self, interface):
        self.__array_interface__ = interface


def check_interface(seed):
    """Read an array interface with a random shape, strides and offset: it is refused if they lead out of the buffer."""
    rng = random.Random(seed)
    data = bytearray(np.arange(12.0).tobytes())
    shape = tuple(rng.choice([0, 1, 2, 2, 4, 6]) for _ in range(2))
    strides = rng.choice([None, tuple(8 * rng.randint(-6, 6) for _ in range(2))])
    offset = 8 * rng.choice([0, 0, 1, 5, 11, 12, -1, 1000])
    given = {"version": 3, "typestr": "<f8", "data": data, "shape": shape, "strides": strides, "offset": offset}
    steps = (8 * shape[1], 8) if strides is None else strides
    corners = [offset + a * steps[0] + b * steps[1] for a in (0, shape[0] - 1) for b in (0, shape[1] - 1)]
    is_within = 0 in shape or (min(corners) >= 0 and max(corners) + 8 <= len(data))
    if not is_within:
        with pytest.raises(ValueError, match="numbers is damaged"):
            bp.boxes.as_numbers(Interface(given), name="numbers")
        return
    read = bp.boxes.as_numbers(Interface(given), name="numbers")
    plain = [[(offset + a * steps[0] + b * steps[1]) / 8 for b in range(shape[1])] for a in range(shape[0])]
    assert np.array_equal(read, np.array(plain).reshape(shape)), (seed, given)


def main():
    import tempfile

    begin, end = map(int, sys.argv[1:3])
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(begin, end):
            print(seed, flush=True)
            refused += check(seed, Path(folder) if seed % 50 == 0 else None)
            check_interface(seed)
    print("refused", refused)


if __name__ == "__main__":
    main()
