"""Views of glTF buffers that are compressed by ``EXT_meshopt_compression`` or ``KHR_meshopt_compression``.

A view is one of three streams: attributes, whose elements are stored as the differences of their bytes; triangles,
each of which mostly names a recent edge; and indices, as differences. A filter may follow.

References
----------
.. [1] Khronos Group, "EXT_meshopt_compression" and "KHR_meshopt_compression", appendices A and B,
   https://github.com/KhronosGroup/glTF/tree/main/extensions/2.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import FileFormatError, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

__all__ = ["decompressed"]

_GROUP = 16  # elements
_BLOCK_BYTES, _BLOCK_ELEMENTS = 8192, 256
_MOST_STRIDE = 256
_FIRST, _SECOND = (0, 2, 4, 8), ((0, 1, 2, 4), (1, 2, 4, 8))  # bits of a delta: of version 0; of version 1, by control
_ZEROS, _LITERAL = 2, 3  # the other controls of version 1


def decompressed(content: bytes, count: int, stride: int, mode: Any, kind: Any) -> bytes:
    """Return the ``count * stride`` bytes of a view; `kind` is its filter.

    Raises FileFormatError for a stream that is damaged or longer than needed; the caller adds which view it is. Takes
    memory for the elements that the stream has, up to 1,024 bytes for one of its own.
    """
    if mode == "ATTRIBUTES":
        if stride % 4 or not 4 <= stride <= _MOST_STRIDE:
            raise FileFormatError(f"byteStride must be a multiple of 4 up to {_MOST_STRIDE}, not {stride}")
        return _filtered(_attributes(content, count, stride), kind).tobytes()
    if mode not in ("TRIANGLES", "INDICES"):
        raise FileFormatError(f"mode must be 'ATTRIBUTES', 'TRIANGLES' or 'INDICES', not {quoted(mode)}")
    if stride not in (2, 4) or kind != "NONE":
        raise FileFormatError(f"indices must have 2 or 4 bytes and no filter, not {stride} and {quoted(kind)}")
    if mode == "TRIANGLES" and count % 3:
        raise FileFormatError(f"{count:,} corners are not whole triangles")
    found = _triangles(content, count // 3) if mode == "TRIANGLES" else _indices(content, count)
    return found.astype(f"<u{stride}").tobytes()


# ---- attributes ----


def _attributes(content: bytes, count: int, stride: int) -> Bytes:
    """Return the elements, shape (count, stride)."""
    if not content or content[0] not in (0xA0, 0xA1):
        raise FileFormatError("no stream of attributes of version 0 or 1")
    is_first = content[0] == 0xA0
    own = stride if is_first else stride + stride // 4
    end = len(content) - max(own, 32 if is_first else 24)
    if end < 1:
        raise FileFormatError("the stream is cut off")
    data = np.frombuffer(content, np.uint8)
    baseline = data[len(content) - own :][:stride]
    modes = [0] * (stride // 4) if is_first else list(content[len(content) - stride // 4 :])
    deltas = _deltas(content, data, count, stride, end, is_first)
    columns = [_summed(deltas[:, k : k + 4], baseline[k : k + 4], modes[k // 4]) for k in range(0, stride, 4)]
    return np.ascontiguousarray(np.concatenate(columns, axis=1)[:count])


def _deltas(content: bytes, data: Bytes, count: int, stride: int, end: int, is_first: bool) -> Bytes:
    """Return the stored differences, zigzag-encoded, shape (count rounded up to groups, stride)."""
    most = min((_BLOCK_BYTES // stride) & ~(_GROUP - 1), _BLOCK_ELEMENTS)
    # Where a group of so many bits ends that begins at a byte: one more byte for each delta with all bits set.
    sizes = {bits: _group_sizes(data, bits) for bits in (1, 2, 4)}
    places: dict[int, tuple[list[int], list[int]]] = {bits: ([], []) for bits in (1, 2, 4, 8)}  # bytes, and groups
    literal: list[tuple[int, int, Bytes]] = []
    at, group = 1, 0
    whole_groups = -(-count // _GROUP)
    try:
        for begin in range(0, count, most):
            groups = -(-min(count - begin, most) // _GROUP)
            control = content[at : at + stride // 4] if not is_first else b""
            at += len(control)
            for k in range(stride):
                kind = -1 if is_first else control[k // 4] >> (k % 4 * 2) & 3
                number = k * whole_groups + group
                if kind == _ZEROS:
                    continue
                if kind == _LITERAL:
                    elements = min(count - begin, most)
                    literal.append((k, begin, data[at : at + elements]))
                    at += elements
                    continue
                header = int.from_bytes(content[at : at + -(-groups // 4)], "little")
                at += -(-groups // 4)
                widths = _FIRST if kind < 0 else _SECOND[kind]
                for one in range(number, number + groups):
                    bits = widths[header & 3]
                    header >>= 2
                    if bits:
                        starts, numbers = places[bits]
                        starts.append(at)
                        numbers.append(one)
                        at += _GROUP if bits == 8 else sizes[bits][at]
            group += groups
            if at > end:
                break
    except IndexError:
        at = end + 1
    if at != end:
        raise FileFormatError("the stream is cut off" if at > end else "bytes are left behind the last element")
    found = np.zeros((stride * whole_groups, _GROUP), np.uint8)
    for bits, (starts, numbers) in places.items():
        if starts:
            found[numbers] = _group_values(data, np.array(starts), bits)
    columns = found.reshape(stride, whole_groups * _GROUP)
    for k, begin, values in literal:
        columns[k, begin : begin + len(values)] = values
    return columns.T


def _group_sizes(data: Bytes, bits: int) -> Sequence[int]:
    """Return the bytes of a group of deltas of so many bits, for each byte at which it may begin."""
    own = 2 * bits
    values = np.arange(256)[:, np.newaxis] >> np.arange(0, 8, bits) & (1 << bits) - 1
    full = (values == (1 << bits) - 1).sum(axis=1)
    sums = np.concatenate([[0], np.cumsum(full[data])])
    found: list[int] = (own + sums[own:] - sums[:-own]).tolist()
    return found


def _group_values(data: Bytes, starts: NDArray[np.int64], bits: int) -> Bytes:
    """Return the deltas of groups of so many bits, shape (n, 16)."""
    if bits == 8:
        whole: Bytes = data[starts[:, np.newaxis] + np.arange(_GROUP)]
        return whole
    own = 2 * bits
    packed = data[starts[:, np.newaxis] + np.arange(own)]
    shifts = np.arange(0, 8, bits) if bits == 1 else np.arange(8 - bits, -1, -bits)
    values: Bytes = (packed[:, :, np.newaxis] >> shifts.astype(np.uint8) & (1 << bits) - 1).reshape(-1, _GROUP)
    is_full = values == (1 << bits) - 1
    behind = starts[:, np.newaxis] + own - 1 + np.cumsum(is_full, axis=1)
    values[is_full] = data[behind[is_full]]
    return values


def _summed(deltas: Bytes, baseline: Bytes, mode: int) -> Bytes:
    """Return four bytes of each element, from their differences."""
    kind, turn = mode & 15, mode >> 4
    if kind > 2 or (turn and kind < 2):
        raise FileFormatError(f"there is no channel mode {mode}")
    dtype: Any = (np.uint8, "<u2", "<u4")[kind]
    stored = np.ascontiguousarray(deltas).view(dtype)
    first = np.ascontiguousarray(baseline).view(dtype)
    if kind == 2:
        turned = stored << np.uint32(turn) | stored >> np.uint32(32 - turn & 31)
        found = np.bitwise_xor.accumulate(np.concatenate([first[np.newaxis], turned]), axis=0)[1:]
    else:
        found = np.cumsum(_unzigzag(stored), axis=0, dtype=stored.dtype) + first
    return np.ascontiguousarray(found).view(np.uint8)


def _unzigzag(values: NDArray[Any]) -> NDArray[Any]:
    one = values.dtype.type(1)
    found: NDArray[Any] = values >> one ^ -(values & one)
    return found


def _filtered(rows: Bytes, kind: Any) -> NDArray[Any]:
    if kind == "NONE":
        return rows
    stride = rows.shape[1]
    if kind == "EXPONENTIAL":
        numbers = rows.view("<i4")
        with np.errstate(over="ignore"):  # unspecified beyond 2^100
            found: NDArray[Any] = np.ldexp((numbers << 8 >> 8).astype("<f4"), numbers >> 24).astype("<f4")
        return found
    if kind == "QUATERNION" and stride == 8:
        given = rows.view("<i2").astype(np.float64)
        last = rows.view("<i2")[:, 3]
        three = given[:, :3] / (last | 3)[:, np.newaxis].astype(np.float64) / np.sqrt(2)
        rest = np.sqrt(np.maximum(0.0, 1.0 - (three * three).sum(axis=1)))
        turned = np.empty(given.shape, "<i2")
        columns = ((last & 3)[:, np.newaxis] + np.arange(4)) % 4
        whole = np.rint(np.column_stack([rest, three]) * 32767).clip(-32767, 32767)
        np.put_along_axis(turned, columns.astype(np.int64), whole.astype("<i2"), axis=1)
        return turned
    raise FileFormatError(f"the filter {quoted(kind)} of elements of {stride} bytes is not one of positions")


# ---- triangles and indices ----


def _triangles(content: bytes, count: int) -> NDArray[np.uint32]:
    end = len(content) - 16
    if end < 1 + count or content[0] != 0xE1:
        raise FileFormatError("no stream of so many triangles")
    table = content[end:]
    at, fresh, last = 1 + count, 0, 0
    edges: list[tuple[int, int]] = []  # the last ones are the recent ones
    recent: list[int] = []
    corners: list[int] = []

    def far() -> int:
        """Read an index as its difference from the last one."""
        nonlocal at, last
        value = shift = 0
        while True:
            byte = content[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
            if shift > 28:
                raise FileFormatError("an index has more than five bytes")
        value &= 0xFFFFFFFF
        last = last + (~(value >> 1) if value & 1 else value >> 1) & 0xFFFFFFFF
        return last

    try:
        for code in content[1 : 1 + count]:
            if code < 0xF0:
                a, b = edges[-1 - (code >> 4)]
                low = code & 15
                if 0 < low < 13:
                    c = recent[-1 - low]
                else:
                    if low == 0:
                        c = fresh
                        fresh += 1
                    elif low == 15:
                        c = far()
                    else:
                        c = last = last + (1 if low == 14 else -1) & 0xFFFFFFFF
                    recent.append(c)
                edges.append((c, b))
                edges.append((a, c))
            else:
                if code < 0xFE:
                    pair = table[code & 15]
                else:
                    pair = content[at]
                    at += 1
                    if pair == 0:
                        fresh = 0
                high, low = pair >> 4, pair & 15
                if code == 0xFF:
                    a = far()
                else:
                    a = fresh
                    fresh += 1
                if high == 0:
                    b = fresh
                    fresh += 1
                else:
                    b = far() if high == 15 else recent[-high]
                if low == 0:
                    c = fresh
                    fresh += 1
                else:
                    c = far() if low == 15 else recent[-low]
                recent.append(a)
                if high in (0, 15):
                    recent.append(b)
                if low in (0, 15):
                    recent.append(c)
                edges += ((b, a), (c, b), (a, c))
            corners += (a, b, c)
            if len(edges) > 4096:
                del edges[:-16], recent[:-16]
    except IndexError:
        raise FileFormatError("a triangle names an edge or a vertex that was not there before") from None
    if at != end:
        raise FileFormatError("the stream is cut off" if at > end else "bytes are left behind the last triangle")
    return np.array(corners, np.int64).astype(np.uint32)


def _indices(content: bytes, count: int) -> NDArray[np.uint32]:
    end = len(content) - 4
    if end < 1 or content[0] != 0xD1:
        raise FileFormatError("no stream of indices")
    data = np.frombuffer(content, np.uint8)[1:end]
    ends = np.flatnonzero(data < 128)
    if len(ends) != count or (len(data) and data[-1] >= 128):
        raise FileFormatError(f"{len(ends):,} indices, and {count:,} are declared")
    begins = np.concatenate([[0], ends[:-1] + 1])[:count]
    if count and (ends - begins).max() > 4:
        raise FileFormatError("an index has more than five bytes")
    shifts = 7 * (np.arange(len(data)) - np.repeat(begins, ends - begins + 1)).astype(np.uint64)
    parts = (data & 127).astype(np.uint64) << shifts
    values = np.add.reduceat(parts, begins).astype(np.uint32) if count else np.empty(0, np.uint32)
    deltas = (values >> np.uint32(2)) ^ -(values >> np.uint32(1) & np.uint32(1))
    found = np.empty(count, np.uint32)
    for baseline in (0, 1):
        own = (values & np.uint32(1)) == baseline
        found[own] = np.cumsum(deltas[own], dtype=np.uint32)
    return found
