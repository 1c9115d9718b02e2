"""Random joins of tables in all libraries, against an oracle of plain loops over numbers of Python.

Values are kept as lists: integers, floats, text, and times as (nanoseconds, unit). A table is made of them by pyarrow.
"""

import datetime as dt
import math
import random
import warnings
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import broadphase as bp

LIBRARIES = ("pandas", "pandas, by pyarrow", "polars", "polars, lazy", "pyarrow", "duckdb")
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "D": 86_400 * 10**9}

WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
FLOATS = [pa.float32(), pa.float64()]
#: Columns that may be compared with one another.
CORNERS = {
    "whole": WHOLE,
    "numbers": [pa.int8(), pa.int32(), pa.int64(), pa.uint16(), *FLOATS],
    "floats": FLOATS,
    "huge": [pa.int64()],
    "datetimes": [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")],
    "zoned": [pa.timestamp(unit, "UTC") for unit in ("ms", "us", "ns")],
    "durations": [pa.duration(unit) for unit in ("ms", "us", "ns")],
    "dates": [pa.date32()],
    "times": [pa.time64("us"), pa.time64("ns")],
}
TIMES = ("datetimes", "zoned", "durations", "dates", "times")
KEYS = {
    "text": [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())],
    "whole": WHOLE,
    "numbers": [pa.int8(), pa.int64(), *FLOATS],
    "hashes": [pa.uint64()],
    "flags": [pa.bool_()],
    "dates": [pa.date32()],
    "datetimes": CORNERS["datetimes"],
}
TEXTS = ["chr1", "chr2", "", "a chromosome with a long name", "\u00e9"]
OTHERS = [pa.int64(), pa.uint64(), pa.int32(), pa.float32(), pa.string(), pa.bool_(), pa.timestamp("us"), pa.binary()]


def is_time(kind):
    return pa.types.is_temporal(kind)


def unit_of(kind):
    return "D" if pa.types.is_date(kind) else kind.unit


def made(values, kind):
    """Return a column of values as they are stored."""
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).cast(kind)
    if not is_time(kind):
        return pa.array(values, kind)
    whole = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array([None if x is None else x // NANOSECONDS[unit_of(kind)] for x in values], whole).view(kind)


def plain(column):
    """Return the values of a column of pyarrow, times in nanoseconds."""
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.dictionary_decode().to_pylist()
    if pa.types.is_interval(kind):  # of DuckDB, for durations
        given = [
            None if x is None else (x.months, x.days * NANOSECONDS["D"] + x.nanoseconds) for x in column.to_pylist()
        ]
        assert not any(x[0] for x in given if x is not None)
        return [None if x is None else x[1] for x in given]
    if not is_time(kind):
        return column.to_pylist()
    whole = column.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    return [None if x is None else x * NANOSECONDS["ms" if pa.types.is_date64(kind) else unit_of(kind)] for x in whole]


def table_of(library, columns):
    """Return columns (values, kind) as a table of a library."""
    table = pa.table({name: made(*column) for name, column in columns.items()})
    if library == "pyarrow":
        return table
    if library.startswith("pandas"):
        pd = pytest.importorskip("pandas")
        if library != "pandas":
            return table.to_pandas(types_mapper=pd.ArrowDtype)
        return pd.DataFrame({name: of_pandas(pd, table.column(name)) for name in columns})
    if library.startswith("polars"):
        frame = pytest.importorskip("polars").from_arrow(table)
        return frame if library == "polars" else frame.lazy()
    return pytest.importorskip("duckdb").connect().from_arrow(table)


def of_pandas(pd, column):
    """Return a column of NumPy where it can hold the values, or else a nullable one."""
    kind = column.type
    if (pa.types.is_integer(kind) or pa.types.is_boolean(kind)) and column.null_count:
        name = "boolean" if pa.types.is_boolean(kind) else str(kind).replace("uint", "UInt").replace("int", "Int")
        return pd.array(column.to_pylist(), dtype=name)
    if pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_large_string(kind):
        return pd.arrays.ArrowExtensionArray(column)
    return column.to_pandas()


def rows_of(table):
    """Return the names of the columns of a table of any library, and its rows."""
    if hasattr(table, "collect"):
        table = table.collect()
    if hasattr(table, "to_arrow_table"):
        table = table.to_arrow_table()
    elif hasattr(table, "to_arrow"):
        table = table.to_arrow()
    if hasattr(table, "iloc"):
        with warnings.catch_warnings():
            # Of pandas 3.1, about how PyArrow 24 reads times with zones.
            warnings.filterwarnings("ignore", "Series.values returning")
            columns = [pa.Array.from_pandas(table[name]) for name in table.columns]
        names, count = list(table.columns), len(table)
    else:
        columns, names, count = table.columns, table.column_names, table.num_rows
    values = [plain(column) for column in columns]
    return names, list(zip(*values, strict=True)) if values else [()] * count


class Case:
    """Two tables, options of `join`, and what comes out of it."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.library = rng.choice(LIBRARIES)
        self.is_one = rng.random() < 0.15
        ways = ["inner", "semi", "anti"] if self.is_one else ["inner", "inner", "left", "semi", "anti", "nearest"]
        self.how = rng.choice(ways)
        self.axes = rng.choice([1, 1, 1, 2, 3, 4])
        self.counted = rng.choice([True, "hits"]) if self.how == "inner" and rng.random() < 0.3 else False
        self.measured = rng.choice([False, True, "gap"]) if self.how == "nearest" else False
        self.closed = rng.choice(["both", "both", "left", "right", "neither"])
        self.missing = rng.choice(["drop", "drop", "unbounded"])
        self.other_names = not self.is_one and rng.random() < 0.3
        self.nulls = rng.choice([0, 0, 0.15, 0.6])
        self.suffixes = rng.choice([("", "_right"), ("_a", "_b"), ("", "_b")])
        sizes = [rng.choice([0, 1, 2, 3, 9, 9, 30]) for _ in range(2)]
        self.columns = [{}, {}]
        self.corners, self.keys, self.families, self.steps = [], [], [], []
        for axis in range(self.axes):
            self.add_axis(axis, sizes)
        self.margins, self.shared, self.share = self.choose_rule()
        self.near = self.choose_near()
        self.periods = self.choose_periods(random.Random(f"periods of {seed}"))
        for key in range(rng.choice([0, 0, 1, 1, 2])):
            self.add_key(key, sizes)
        for side in range(2):
            for k in range(rng.randrange(3)):
                kind = rng.choice(OTHERS)
                self.columns[side][f"more{k}"] = self.values_of(kind, sizes[side]), kind
        if self.is_one:
            self.columns[1] = self.columns[0]
        if rng.random() < 0.05:
            self.turn_around()
        self.keep = self.choose_keep()

    def add_axis(self, axis, sizes):
        rng = self.rng
        families = [one for one in CORNERS if one != "durations" or self.library != "duckdb"]  # an INTERVAL has months
        if self.how == "nearest" and self.axes > 1:
            families = ["whole", "numbers", "floats"]
        family = rng.choice(families)
        self.families.append(family)
        names = [(f"lower{axis}", f"upper{axis}"), (f"from{axis}", f"to{axis}") if self.other_names else None]
        names[1] = names[1] or names[0]
        step, base, parts = 1, 0, 1
        if family == "huge":
            base = rng.choice([2**53, 2**62, -(2**62), 2**63 - 200, -(2**63)])
        elif family in ("numbers", "floats"):
            parts = rng.choice([1, 4])
        elif family == "dates":
            step, base = NANOSECONDS["D"], 20_000 * NANOSECONDS["D"]
        elif family not in ("whole",):
            step, base = rng.choice([10**9, 3600 * 10**9]) if family != "times" else 10**9, 0
        self.steps.append(step)
        has_points = rng.random() < 0.6
        for side in range(2):
            kinds = [rng.choice(CORNERS[family]) for _ in range(2)]
            lower, upper = [], []
            for _ in range(sizes[side]):
                low = rng.randrange(50) * parts
                high = low + rng.choice([0 if has_points else 3, 1, 2, 9]) * rng.choice([1, parts])
                lower.append(base + low * step)
                upper.append(base + high * step)
            for end, (values, kind) in enumerate(zip((lower, upper), kinds, strict=True)):
                if family in ("numbers", "floats"):
                    is_float = pa.types.is_floating(kind)
                    values = [x / parts if is_float else x // parts for x in values]
                self.columns[side][names[side][end]] = self.with_nulls(values), kind
            # Integers are rounded down, so a lower corner that is a float may be above its upper one.
            low, high = (self.columns[side][name] for name in names[side])
            for row, (a, b) in enumerate(zip(low[0], high[0], strict=True)):
                if a is not None and b is not None and a > b:
                    low[0][row] = b if pa.types.is_floating(low[1]) else math.floor(b)
        self.corners.append(names)

    def length_along(self, axis, sizes):
        """Return a length of one of some sizes along an axis: of numbers, or in nanoseconds."""
        rng = self.rng
        if self.families[axis] in TIMES:  # timedeltas have microseconds
            return rng.choice(sizes) * rng.choice([self.steps[axis], self.steps[axis], 1_500_000])
        whole = self.families[axis] in ("whole", "huge")
        return rng.choice(sizes) + (0 if whole and rng.random() < 0.6 else rng.choice([0, 0.25, 0.5]))

    def choose_rule(self):
        rng = self.rng
        what = rng.choice(["", "", "", "margin", "length", "part"]) if self.how != "nearest" else ""
        nothing = [0] * self.axes
        lengths = [self.length_along(axis, [0, 1, 2, 4]) for axis in range(self.axes)]
        if what == "part":
            return nothing, nothing, (rng.choice(["left", "right", "both"]), rng.choice([0.25, 0.3, 0.5, 1.0]))
        return lengths if what == "margin" else nothing, lengths if what == "length" else nothing, None

    def choose_near(self):
        rng = self.rng
        if self.how != "nearest":
            return None
        most = self.length_along(0, [0, 2, 9]) if rng.random() < 0.4 else None
        direction = rng.choice(["both", "backward", "forward"]) if self.axes == 1 else "both"
        return rng.choice([1, 1, 2, 5, 100]), rng.choice(["first", "all"]), most, direction

    def choose_periods(self, rng):
        """Return how far it is until each axis repeats, or None; rows that overlap then have no other rule."""
        if self.how == "nearest" or rng.random() < 0.7:
            return [None] * self.axes
        self.margins, self.shared, self.share = [0] * self.axes, [0] * self.axes, None
        return [rng.choice([None, 1, 7, 24, 24, 60]) and rng.choice([1, 7, 24, 60]) * step for step in self.steps]

    def given_length(self, axis, length):
        """Return a length as `join` takes it."""
        if self.families[axis] not in TIMES:
            return length
        if length % 1000 == 0 and self.rng.random() < 0.5:
            return dt.timedelta(microseconds=length // 1000)
        return np.timedelta64(length, "ns")

    def add_key(self, key, sizes):
        rng = self.rng
        family = rng.choice(list(KEYS))
        names = [f"key{key}", f"name{key}" if self.other_names and rng.random() < 0.7 else f"key{key}"]
        pool = {
            "text": TEXTS, "whole": [0, 1, 5, 100], "numbers": [0, 1, 2],
            "hashes": [2**63 + 5, 7, 2**64 - 1, 2**53 + 1],
            "flags": [True, False], "dates": [k * NANOSECONDS["D"] for k in (0, 1, 9000)],
            "datetimes": [k * 10**9 for k in (0, -5, 10**9)],
        }[family]  # fmt: skip
        for side in range(2):
            kind = rng.choice(KEYS[family])
            values = [rng.choice(pool) for _ in range(sizes[side])]
            if pa.types.is_floating(kind):
                odd = [-0.0] if self.library.startswith("pandas") else [-0.0, math.nan]
                values = [rng.choice(odd) if rng.random() < 0.2 else float(x) for x in values]
            self.columns[side][names[side]] = self.with_nulls(values), kind
        self.keys.append(names)

    def values_of(self, kind, size):
        rng = self.rng
        if pa.types.is_boolean(kind):
            values = [rng.random() < 0.5 for _ in range(size)]
        elif pa.types.is_string(kind):
            values = [rng.choice(TEXTS) for _ in range(size)]
        elif pa.types.is_binary(kind):
            values = [rng.choice(TEXTS).encode() for _ in range(size)]
        elif pa.types.is_floating(kind):
            values = [rng.randrange(-99, 99) / 4 for _ in range(size)]
        elif is_time(kind):
            values = [rng.randrange(10**15) * 1000 for _ in range(size)]
        else:
            bits = kind.bit_width
            low, high = (
                (0, 2**bits - 1) if pa.types.is_unsigned_integer(kind) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            )
            values = [rng.choice([low, high, high - 1, rng.randint(low, high)]) for _ in range(size)]
        return self.with_nulls(values)

    def with_nulls(self, values):
        return [None if self.rng.random() < self.nulls else x for x in values]

    def turn_around(self):
        """Make rows of an axis end before they begin."""
        side, names = self.rng.randrange(2), self.rng.choice(self.corners)
        (low, kind), (high, other) = (self.columns[side][name] for name in names[side])
        for row, (a, b) in enumerate(zip(low, high, strict=True)):
            if kind == other and a is not None and b is not None and self.rng.random() < 0.5:
                low[row], high[row] = b, a

    def first_invalid(self):
        """Return the side and the row of the first interval that ends before it begins, or None."""
        for side in range(2):
            rows = self.rows(side)
            for axis in range(self.axes):
                for row, one in enumerate(rows):
                    if one is not None and one[1][axis][0] > one[1][axis][1]:
                        return ("left", "right")[side], row
        return None

    def choose_keep(self):
        rng = self.rng
        what = rng.randrange(4)
        if what < 2:
            return None
        chosen = [rng.sample(list(columns), rng.randint(0, len(columns))) for columns in self.columns]
        if what == 2:
            names = list(dict.fromkeys(chosen[0] + chosen[1]))
            return names or None
        return tuple(names if rng.random() < 0.8 else None for names in chosen)

    def options(self):
        def named(names, end=None):
            own, other = names if end is None else (names[0][end], names[1][end])
            return own if own == other else (own, other)

        given = {
            "lower": [named(names, 0) for names in self.corners],
            "upper": [named(names, 1) for names in self.corners],
            "how": self.how, "closed": self.closed, "missing": self.missing,
            "keep": self.keep, "suffixes": self.suffixes,
        }  # fmt: skip
        if self.axes == 1 and self.rng.random() < 0.5:
            given |= {"lower": given["lower"][0], "upper": given["upper"][0]}
        if self.keys:
            by = [named(names) for names in self.keys]
            given["by"] = by[0] if len(by) == 1 and self.rng.random() < 0.5 else by
        if self.counted:
            given["count"] = self.counted
        if self.measured:
            given["distance"] = self.measured
        for option, lengths in (("margin", self.margins), ("min_overlap", self.shared)):
            if any(lengths):
                given[option] = [self.given_length(axis, length) for axis, length in enumerate(lengths)]
                if self.axes == 1 and self.rng.random() < 0.5:
                    given[option] = given[option][0]
        if any(self.periods):
            given["period"] = [x and self.given_length(axis, x) for axis, x in enumerate(self.periods)]
        if self.share:
            given["min_overlap"] = self.share
        if self.near:
            k, ties, most, direction = self.near
            given |= {"k": k, "ties": ties, "direction": direction}
            given |= {} if most is None else {"max_distance": self.given_length(0, most)}
        return given

    # What comes out of it ---------------------------------------------------------------------------------------------

    def rows(self, side):
        """Return for each row its key and its intervals, or None."""
        columns = self.columns[side]
        count = len(next(iter(columns.values()))[0])
        result = []
        for row in range(count):
            key = [columns[names[side]][0][row] for names in self.keys]
            ends = [tuple(columns[name][0][row] for name in names[side]) for names in self.corners]
            is_there = not any(x is None or x != x for x in key)
            if self.missing == "drop":
                is_there &= not any(None in pair for pair in ends)
            intervals = [self.around(*end_of(a, b), period) for (a, b), period in zip(ends, self.periods, strict=True)]
            result.append((key, intervals) if is_there else None)
        return result

    def around(self, low, high, period):
        """Return an interval that goes on into the next period if it ends before it begins."""
        return low, high + period if period and high < low < high + period else high

    def overlap(self, one, two):
        if one is None or two is None or one[0] != two[0]:
            return False
        if not any(self.periods):
            return self.overlap_in_place(one, two)
        steps = []
        for (a, b), (c, d), period in zip(one[1], two[1], self.periods, strict=True):
            if not period:
                steps.append([0])
            elif math.inf in (b, d) or -math.inf in (a, c):
                steps.append([None])
            else:
                numbers = range(math.floor((c - b) / period) - 1, math.ceil((d - a) / period) + 2)
                steps.append([period * k for k in numbers])
        return any(
            self.overlap_in_place(
                (
                    one[0],
                    [
                        (a, b) if step is None else (a + step, b + step)
                        for (a, b), step in zip(one[1], moves, strict=True)
                    ],
                ),
                (
                    two[0],
                    [
                        one[1][k] if step is None else pair
                        for k, (pair, step) in enumerate(zip(two[1], moves, strict=True))
                    ],
                ),
            )
            for moves in product(*steps)
        )

    def overlap_in_place(self, one, two):
        for axis, ((a, b), (c, d)) in enumerate(zip(one[1], two[1], strict=True)):
            margin, shared = Fraction(self.margins[axis]), Fraction(self.shared[axis])
            if shared:
                if min(b, d) - max(a, c) < shared:
                    return False
            elif not (self.is_within(a, b, c, d, margin) and self.is_within(c, d, a, b, margin)):
                return False
        return True

    def is_within(self, a, b, c, d, margin):
        """Say whether points of [a, b] are below some of [c, d], or above by the margin at most."""
        # Those of a row with a length come as near to its ends as one likes, even if these do not belong to it.
        has_begin = self.closed in ("both", "left") or a == b
        has_end = self.closed in ("both", "right") or c == d
        return a - d <= margin if has_begin and has_end else a - d < margin

    def shares_enough(self, one, two):
        if not self.share:
            return True
        return all(
            part_of(row, other) >= self.share[1]
            for row, other, of in ((one, two, "left"), (two, one, "right"))
            if self.share[0] in (of, "both")
        )

    def partners(self, left, right):
        """Return for each row of the left table the rows of the right one that overlap it."""
        return [
            [
                j
                for j, two in enumerate(right)
                if not (self.is_one and i == j) and self.overlap(one, two) and self.shares_enough(one, two)
            ]
            for i, one in enumerate(left)
        ]

    def pairs(self):
        """Return (row of left, row of right or None, gap) in order."""
        left, right = self.rows(0), self.rows(1)
        overlapping = self.partners(left, right) if self.how != "nearest" else None
        found = []
        for i, one in enumerate(left):
            if self.how == "nearest":
                found += [(i, j, gap) for gap, _, j in self.nearest(one, right)] or [(i, None, None)]
                continue
            partners = [j for j in overlapping[i] if not self.is_one or i < j]
            if self.how == "left" and not partners:
                partners = [None]
            found += [(i, j, None) for j in partners]
        return found

    def nearest(self, one, right):
        """Return (gap, begin, row) of the rows that are wanted, the nearest first; along several axes no begin."""
        k, ties, most, direction = self.near
        ranked = []
        for j, two in enumerate(right):
            if one is None or two is None or one[0] != two[0]:
                continue
            gaps = [max(Fraction(0), c - b, a - d) for (a, b), (c, d) in zip(one[1], two[1], strict=True)]
            (a, b), (c, d) = one[1][0], two[1][0]
            is_away = (c > b and direction == "backward") or (d < a and direction == "forward")
            square = sum(gap * gap for gap in gaps)  # small numbers: two squares have two roots in float64
            if not is_away and (most is None or square <= Fraction(most) ** 2):
                gap = gaps[0] if self.axes == 1 else math.sqrt(square)
                ranked.append((gap, not self.overlap(one, two), c if self.axes == 1 else 0, j))
        ranked.sort()
        wanted = [one for one in ranked if one in ranked[:k] or (ties == "all" and one[0] <= ranked[:k][-1][0])]
        return [(gap, begin, row) for gap, _, begin, row in wanted]

    def expected(self):
        """Return the names of the columns and the rows; None if two columns have one name."""
        kept = [list(columns) for columns in self.columns]
        if isinstance(self.keep, tuple):
            kept = [own if names is None else names for own, names in zip(kept, self.keep, strict=True)]
        elif self.keep is not None:
            kept = [[name for name in self.keep if name in own] for own in kept]
        own, other = kept
        if self.counted or self.how in ("semi", "anti"):
            other = []
        keys = [names[0] for names in self.keys if names[0] == names[1]]
        other = [name for name in other if not (name in keys and name in own)]
        both = set(own) & set(other)
        names = [name + self.suffixes[0] * (name in both) for name in own]
        names += [name + self.suffixes[1] * (name in both) for name in other]
        added = self.counted or self.measured
        if added:
            names.append({True: "count" if self.counted else "distance"}.get(added, added))
        if len(set(names)) < len(names):
            return None
        if self.counted or self.how in ("semi", "anti"):
            counts = list(map(len, self.partners(self.rows(0), self.rows(1))))
            rows = [tuple(self.columns[0][x][0][i] for x in own) for i in range(len(counts))]
            if self.counted:
                return names, [(*row, count) for row, count in zip(rows, counts, strict=True)]
            return names, [row for row, count in zip(rows, counts, strict=True) if (count > 0) == (self.how == "semi")]
        rows = []
        for i, j, gap in self.pairs():
            row = [self.columns[0][name][0][i] for name in own]
            row += [None if j is None else self.columns[1][name][0][j] for name in other]
            rows.append((*row, gap) if self.measured else tuple(row))
        return names, rows


def end_of(low, high):
    """Return the ends of an interval; without one, it is endless."""
    return (-math.inf if low is None else Fraction(low), math.inf if high is None else Fraction(high))


def part_of(row, other):
    """Return which part of a row lies in another one that overlaps it, as the nearest float of each quotient."""
    part = 1.0
    for (a, b), (c, d) in zip(row[1], other[1], strict=True):
        shared = min(b, d) - max(a, c)
        if b == a or (math.isinf(b - a) and math.isinf(shared)):
            continue  # all of a point, and of what both have without end
        part *= 0.0 if math.isinf(b - a) else float(shared / (b - a))
    return part


def same(one, two):
    """Return whether values are equal, and not an integer that was rounded to a float."""
    if one is None or two is None:
        return one is two
    if isinstance(two, Fraction):  # a gap
        return Fraction(one) == two and not (two.denominator > 1 and isinstance(one, int))
    if isinstance(one, float) and isinstance(two, float) and math.isnan(one):
        return math.isnan(two)
    return type(one) is type(two) and one == two


def check_join(seed):
    """Compare one random join with the oracle."""
    case = Case(seed)
    tables = [table_of(case.library, columns) for columns in case.columns[: 1 if case.is_one else 2]]
    options = case.options()
    expected = case.expected()
    label = f"seed {seed}, {case.library}, {options}, {case.columns}"
    if expected is None:
        with pytest.raises(ValueError, match="the result has several columns of one name"):
            bp.join(*tables, **options)
        return
    invalid = case.first_invalid()
    if invalid is not None:
        with pytest.raises(bp.errors.InvalidBoxError, match=f"^{invalid[0]}: row {invalid[1]}: ") as caught:
            bp.join(*tables, **options)
        assert caught.value.row == invalid[1], label
        return
    names, rows = expected
    if not names:  # no library has rows without columns
        return
    joined = bp.join(*tables, **options)
    assert type(joined) is type(tables[0]), label
    found_names, found = rows_of(joined)
    assert found_names == names, label
    assert len(found) == len(rows), (label, found, rows)
    whole_gaps = (
        case.measured
        and case.axes == 1
        and not any(
            pa.types.is_floating(case.columns[side][name][1]) for side in range(2) for name in case.corners[0][side]
        )
    )
    for k, (one, two) in enumerate(zip(found, rows, strict=True)):
        assert all(map(same, one, two)), (label, k, one, two)
        assert not whole_gaps or one[-1] is None or isinstance(one[-1], int), (label, k, one)
    if case.how == "inner" and not case.counted and rows:
        assert rows_of(bp.join(*tables, **options, max_pairs=len(rows), workers=2))[1] == found or math.nan in found[0]
        with pytest.raises(bp.errors.TooManyPairsError, match="more than max_pairs"):
            bp.join(*tables, **options, max_pairs=len(rows) - 1)
