"""A writer of streams of meshopt, as their specification has them: any way to store each thing, chosen at random."""

from __future__ import annotations

import random
from typing import Any

import numpy as np


def zigzag(value: int, bits: int) -> int:
    """Encode a difference modulo 2^bits."""
    value &= (1 << bits) - 1
    top = 1 << bits - 1
    return ~(value << 1) & (1 << bits) - 1 if value & top else value << 1 & (1 << bits) - 1


def group(deltas: list[int], bits: int) -> bytes:
    """Encode 16 bytes of which those that do not fit into so many bits follow."""
    if bits == 8:
        return bytes(deltas)
    full = (1 << bits) - 1
    body, behind = [], []
    for begin in range(0, 16, 8 // bits):
        byte = 0
        for place, delta in enumerate(deltas[begin : begin + 8 // bits]):
            code = min(delta, full)
            behind += [delta] if code == full else []
            byte |= code << (place if bits == 1 else 8 - bits * (place + 1))
        body.append(byte)
    return bytes(body + behind)


def data_block(deltas: list[int], widths: tuple[int, ...], rng: random.Random) -> bytes:
    deltas = deltas + [0] * (-len(deltas) % 16)
    headers, body = [], b""
    for begin in range(0, len(deltas), 16):
        own = deltas[begin : begin + 16]
        header = rng.choice([k for k, bits in enumerate(widths) if bits or not any(own)])
        headers.append(header)
        body += group(own, widths[header]) if widths[header] else b""
    headers += [0] * (-len(headers) % 4)
    packed = [sum(one << 2 * k for k, one in enumerate(headers[at : at + 4])) for at in range(0, len(headers), 4)]
    return bytes(packed) + body


def attributes(rows: Any, version: int, rng: random.Random) -> bytes:
    """Encode rows of bytes, shape (n, stride)."""
    rows = np.asarray(rows, np.uint8)
    count, stride = rows.shape
    baseline = rows[0].tolist() if rng.random() < 0.5 else [rng.randrange(256) for _ in range(stride)]
    modes = [0 if version == 0 else rng.choice([0, 1, 2, 2 + 16 * rng.randrange(16)]) for _ in range(stride // 4)]
    columns: list[list[int]] = [[] for _ in range(stride)]
    before = baseline
    for row in rows.tolist():
        for channel, mode in enumerate(modes):
            now, last = (one[4 * channel : 4 * channel + 4] for one in (row, before))
            stored: list[int] = []
            if mode == 0:
                stored = [zigzag(a - b, 8) for a, b in zip(now, last, strict=True)]
            elif mode == 1:
                for k in (0, 2):
                    value = zigzag(
                        int.from_bytes(bytes(now[k : k + 2]), "little")
                        - int.from_bytes(bytes(last[k : k + 2]), "little"),
                        16,
                    )
                    stored += value.to_bytes(2, "little")
            else:
                turn = mode >> 4
                value = int.from_bytes(bytes(now), "little") ^ int.from_bytes(bytes(last), "little")
                value = (value >> turn | value << 32 - turn) & 0xFFFFFFFF  # what the decoder turns to the left
                stored += value.to_bytes(4, "little")
            for k, one in enumerate(stored):
                columns[4 * channel + k].append(one)
        before = row
    most = min((8192 // stride) & ~15, 256)
    out = bytes([0xA0 + version])
    for begin in range(0, count, most):
        blocks = [column[begin : begin + most] for column in columns]
        if version == 0:
            out += b"".join(data_block(block, (0, 2, 4, 8), rng) for block in blocks)
            continue
        controls = [rng.choice([0, 1, 2, 3] if not any(block) else [1, 3]) for block in blocks]
        controls = [
            0 if control == 1 and max(block) < 15 and rng.random() < 0.5 else control
            for control, block in zip(controls, blocks, strict=True)
        ]
        out += bytes(sum(one << 2 * k for k, one in enumerate(controls[at : at + 4])) for at in range(0, stride, 4))
        for control, block in zip(controls, blocks, strict=True):
            if control == 3:
                out += bytes(block)
            elif control < 2:
                out += data_block(block, ((0, 1, 2, 4), (1, 2, 4, 8))[control], rng)
    tail = bytes(baseline) + (bytes(modes) if version else b"")
    return out + bytes(max(0, (24 if version else 32) - len(tail))) + tail


def leb(value: int) -> bytes:
    out = b""
    while True:
        value, low = value >> 7, value & 127
        if not value:
            return out + bytes([low])
        out += bytes([low | 128])


def indices(values: Any, rng: random.Random) -> bytes:
    last = [0, 0]
    out = b"\xd1"
    for value in np.asarray(values).ravel().tolist():
        which = rng.randrange(2)
        delta = value - last[which]
        out += leb((zigzag(delta, 31) << 1) | which)
        last[which] = value
    return out + bytes(4)


def nibble(value: int, fresh: int, recent: list[int], rng: random.Random) -> int:
    """Choose how a vertex is named: as a fresh one, a recent one, or by its number."""
    near = [k + 1 for k, one in enumerate(reversed(recent[-14:])) if one == value]
    return rng.choice([15, *near, *([0] if value == fresh else [])])


def triangles(faces: Any, rng: random.Random) -> tuple[bytes, list[list[int]]]:
    """Encode triangles; return the stream, and the triangles as they are read: begun at another corner."""
    table = [0x00, 0x10, 0x01, 0x21, 0x12, 0x30, *[0] * 10]
    codes, data, read = [], b"", []
    edges: list[tuple[int, int]] = []
    recent: list[int] = []
    fresh = last = 0

    def far(value: int) -> bytes:
        nonlocal last
        found = leb(zigzag(value - last, 32))
        last = value
        return found

    for face in np.asarray(faces).tolist():
        turns = [face[k:] + face[:k] for k in range(3)]
        found = [
            (place, turn)
            for place, edge in enumerate(reversed(edges[-15:]))
            for turn in turns
            if edge == tuple(turn[:2])
        ]
        if found and rng.random() < 0.9:
            place, (a, b, c) = rng.choice(found)
            near = [k for k, one in enumerate(reversed(recent[-13:])) if one == c and 0 < k < 13]
            ways = ["far", *(["fresh"] if c == fresh else []), *(["near"] if near else [])]
            ways += ["below"] if c == last - 1 else ["above"] if c == last + 1 else []
            way = rng.choice(ways)
            low = {"far": 15, "fresh": 0, "near": near[0] if near else 0, "below": 13, "above": 14}[way]
            codes.append(place << 4 | low)
            data += far(c) if way == "far" else b""
            last = c if way in ("below", "above") else last
            fresh += way == "fresh"
            recent += [] if way == "near" else [c]
            edges += [(c, b), (a, c)]
        else:
            a, b, c = rng.choice(turns)
            resets = a == 0 and [b, c] == [1, 2] and fresh != 0
            now = 0 if resets else fresh
            is_fresh = a == now
            after = now + is_fresh

            high = 0 if resets else nibble(b, after, recent, rng)
            low = 0 if resets else nibble(c, after + (high == 0), recent, rng)
            pair = high << 4 | low
            if is_fresh and not resets and pair in table[:14] and rng.random() < 0.8:
                codes.append(0xF0 | table.index(pair))
            elif pair == 0 and not resets and now != 0:
                high = low = 15
                pair = 0xFF
                codes.append(0xFE if is_fresh else 0xFF)
                data += bytes([pair])
            else:
                codes.append(0xFE if is_fresh else 0xFF)
                data += bytes([pair])
            explicit = codes[-1] >= 0xFE
            fresh = now + is_fresh
            if not is_fresh:
                data += far(a)
            recent.append(a)
            for value, code in ((b, high), (c, low)):
                fresh += code == 0
                if code == 15 and explicit:
                    data += far(value)
                recent += [value] if code in (0, 15) else []
            edges += [(b, a), (c, b), (a, c)]
        read.append([a, b, c])
    return b"\xe1" + bytes(codes) + data + bytes(table), read
