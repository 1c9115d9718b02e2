"""Which columns of a table are the boxes, and the boxes of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.arguments import as_flag, as_real
from broadphase.errors import FileFormatError, clipped, quoted, unknown_name
from broadphase.extras import import_extra
from broadphase.tables.arrow import floats_of, plain_type, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["BadRowError", "BoxColumns", "BoxSet", "arrow", "as_names", "take"]

_MAX_DIM = 4


@cache
def arrow(module: str = "") -> Any:
    """Import pyarrow, or a module of it, or say how to install it."""
    return import_extra(f"pyarrow.{module}".rstrip("."), purpose="broadphase.scale", extra="scale")


class BadRowError(ValueError):
    """A row cannot be used; `row` and `reason` say which and why, so that a reader can name its file."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(f"row {row}: {reason}")
        self.row = row
        self.reason = reason


@dataclass(frozen=True)
class BoxColumns:
    """What the columns of a table mean, and which boxes of it are pairs.

    Attributes
    ----------
    id : str, optional
        The column that names each box: integers or text. None: the row of each box, counted over all files.
    lower, upper : tuple of str
        The columns of the lower corner and of the upper one, one per axis.
    keep : tuple of str
        Columns that come along with each pair.
    touching, margin
        As in `broadphase.pairs`.
    layer, mask, group, batch : str, optional
        The columns of these options of `broadphase.pairs`.
    """

    id: str | None = "id"
    lower: tuple[str, ...] = ("x0", "y0", "z0")
    upper: tuple[str, ...] = ("x1", "y1", "z1")
    keep: tuple[str, ...] = ()
    touching: bool = True
    margin: float = 0.0
    layer: str | None = None
    mask: str | None = None
    group: str | None = None
    batch: str | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("lower", "upper", "keep"):
            object.__setattr__(self, name, as_names(getattr(self, name), name))
        if not 1 <= len(self.lower) <= _MAX_DIM or len(self.lower) != len(self.upper):
            raise ValueError(
                f"lower and upper name one column per axis, 1 to 4; they are {list(self.lower)} and {list(self.upper)}"
            )
        for name in ("id", "layer", "mask", "group", "batch"):
            value = getattr(self, name)
            if not isinstance(value, str) and value is not None:
                raise TypeError(f"{name} must be the name of a column, not {quoted(value)}")
        object.__setattr__(self, "touching", as_flag(self.touching, "touching"))
        margin = as_real(self.margin, "margin")
        if not 0.0 <= margin < math.inf:
            raise ValueError(f"margin must be finite and at least 0, not {margin}")
        object.__setattr__(self, "margin", margin)
        corners = (*self.lower, *self.upper)
        if len(set(corners)) < len(corners):
            raise ValueError(f"a column is named twice in lower={list(self.lower)} and upper={list(self.upper)}")
        if len(set(self.keep)) < len(self.keep):
            raise ValueError(f"a column is named twice in keep={list(self.keep)}")

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as values for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @property
    def dim(self) -> int:
        """Number of axes."""
        return len(self.lower)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, each once."""
        ids = () if self.id is None else (self.id,)
        return tuple(dict.fromkeys((*ids, *self.lower, *self.upper, *self.filters.values(), *self.keep)))

    @property
    def filters(self) -> dict[str, str]:
        """The columns of the options of `broadphase.pairs`, those that are given."""
        columns = {"layer": self.layer, "mask": self.mask, "group": self.group, "batch": self.batch}
        return {option: name for option, name in columns.items() if name is not None}

    def check(self, schema: Any, source: str) -> None:
        """Raise FileFormatError if a table lacks a column, or has one of the wrong type; names source and column."""
        pa = arrow()
        for name in self.names:
            found = schema.get_all_field_indices(name)
            if not found:
                raise FileFormatError(f"{source}: {unknown_name('column', name, schema.names)}")
            if len(found) > 1:
                raise FileFormatError(f"{source}: several columns are {clipped(name)}")
        types = pa.types
        for name in (*self.lower, *self.upper):
            kind = schema.field(name).type
            if not (types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind)):
                raise FileFormatError(f"{source}: column {clipped(name)} holds {kind}, not numbers")
        for name in self.keep:
            kind = schema.field(name).type
            if str(kind) in ("string_view", "binary_view") or str(kind).startswith("run_end_encoded"):
                raise FileFormatError(f"{source}: column {clipped(name)} holds {kind}, of which pyarrow takes no rows")
        for name in self.filters.values():
            if not types.is_integer(schema.field(name).type):
                raise FileFormatError(f"{source}: column {clipped(name)} holds {schema.field(name).type}, not integers")
        if self.id is None:
            return
        kind = plain_type(schema.field(self.id).type)
        if not (types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind)):
            raise FileFormatError(f"{source}: column {clipped(self.id)} holds {kind}; ids are integers or text")

    def is_float32(self, schema: Any) -> bool:
        """Return whether the corners are float32 as they are; otherwise they become float64."""
        return all(schema.field(name).type == arrow().float32() for name in (*self.lower, *self.upper))


def as_names(names: Any, argument: str) -> tuple[str, ...]:
    """Convert names of columns; one text is not several."""
    if isinstance(names, str) or not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument} must be a sequence of names of columns, not {quoted(names)}")
    return tuple(names)


@dataclass(eq=False)
class BoxSet:
    """The boxes of a table as arrays.

    `ids` are int64 or a pyarrow.LargeStringArray; `corners`, (n, 2, d), lower and upper ones; `filters` those of layer,
    mask, group and batch that there are; `kept`, a record batch, has the columns that come along.
    """

    ids: Any
    corners: NDArray[Any]
    filters: dict[str, NDArray[Any]]
    kept: Any

    @classmethod
    def of(cls, table: Any, columns: BoxColumns, *, dtype: Any = None, first_row: int = 0) -> BoxSet:
        """Take a table apart; empty cells of corners become NaN.

        `dtype` None: float32 if all corners are, otherwise float64. Where rows are the ids, they count from
        `first_row`. BadRowError names a row without an id or a filter.
        """
        arrays = [floats_of(table.column(name), f"column {name}") for name in (*columns.lower, *columns.upper)]
        corners = np.empty((table.num_rows, 2, columns.dim), dtype or np.result_type(*arrays))
        for place, array in enumerate(arrays):
            corners[:, place // columns.dim, place % columns.dim] = array
        filters = {option: _complete(table.column(name), name).to_numpy() for option, name in columns.filters.items()}
        if columns.id is None:
            ids: Any = np.arange(first_row, first_row + table.num_rows)
        else:
            ids = _as_ids(_complete(table.column(columns.id), columns.id), columns.id)
        kept = {name: whole(table.column(name).cast(plain_type(table.field(name).type))) for name in columns.keep}
        return cls(ids, corners, filters, arrow().record_batch(kept))

    def __len__(self) -> int:
        """Return the number of boxes."""
        return len(self.corners)

    @property
    def lower(self) -> NDArray[Any]:
        """The lower corners, shape (n, d)."""
        return self.corners[:, 0]

    @property
    def upper(self) -> NDArray[Any]:
        """The upper corners, shape (n, d)."""
        return self.corners[:, 1]

    def take(self, rows: NDArray[Any]) -> BoxSet:
        """Return some of the boxes, in a new order."""
        filters = {option: take(values, rows) for option, values in self.filters.items()}
        return BoxSet(take(self.ids, rows), self.corners.take(rows, axis=0), filters, take(self.kept, rows))

    def slice(self, begin: int, end: int) -> BoxSet:
        """Return a stretch of the boxes, which are not copied."""
        filters = {option: values[begin:end] for option, values in self.filters.items()}
        ids = self.ids[begin:end] if isinstance(self.ids, np.ndarray) else self.ids.slice(begin, end - begin)
        return BoxSet(ids, self.corners[begin:end], filters, self.kept.slice(begin, end - begin))

    @staticmethod
    def concatenated(sets: Sequence[BoxSet]) -> BoxSet:
        """Return all the boxes of one set or more, one set after the other."""
        first = sets[0]
        if len(sets) == 1:
            return first
        ids = [one.ids for one in sets]
        return BoxSet(
            np.concatenate(ids) if isinstance(first.ids, np.ndarray) else arrow().concat_arrays(ids),
            np.concatenate([one.corners for one in sets]),
            {option: np.concatenate([one.filters[option] for one in sets]) for option in first.filters},
            arrow().concat_batches([one.kept for one in sets]) if first.kept.num_columns else first.kept,
        )

    def to_batch(self) -> Any:
        """Return the boxes as one record batch, which `from_batch` reads without copying the corners."""
        pa = arrow()
        dim = self.corners.shape[2]
        corners = pa.FixedSizeListArray.from_arrays(pa.array(self.corners.reshape(-1)), 2 * dim)
        values = {"id": pa.array(self.ids) if isinstance(self.ids, np.ndarray) else self.ids, "corners": corners}
        values |= {f"filter {option}": pa.array(filters) for option, filters in self.filters.items()}
        values |= {f"kept {name}": self.kept.column(name) for name in self.kept.schema.names}
        return pa.record_batch(values)

    @staticmethod
    def from_batch(batch: Any, columns: BoxColumns) -> BoxSet:
        """Read what `to_batch` made."""
        ids, corners = batch.column("id"), batch.column("corners")
        begin, end = (2 * columns.dim * row for row in (corners.offset, corners.offset + len(corners)))
        return BoxSet(
            ids.to_numpy() if isinstance(ids, arrow().Int64Array) else ids,
            corners.values.to_numpy()[begin:end].reshape(-1, 2, columns.dim),
            {option: batch.column(f"filter {option}").to_numpy() for option in columns.filters},
            arrow().record_batch({name: batch.column(f"kept {name}") for name in columns.keep}),
        )

    def grown(self, margin: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the corners as `broadphase.pairs` compares them: grown by half the margin, rounded once."""
        if margin == 0.0:
            return self.lower, self.upper
        half = self.corners.dtype.type(margin / 2)
        with np.errstate(over="ignore"):
            return self.lower - half, self.upper + half


def take(values: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of an array or of a record batch."""
    if isinstance(values, np.ndarray):
        return values.take(rows)  # a third of the time of values[rows]
    return values if getattr(values, "num_columns", 1) == 0 else values.take(arrow().array(rows))


def _as_ids(column: Any, name: str) -> Any:
    pa = arrow()
    if pa.types.is_integer(column.type):
        try:
            return column.cast(pa.int64()).to_numpy()
        except pa.ArrowInvalid:
            raise ValueError(f"column {clipped(name)} has ids beyond int64") from None
    return whole(column.cast(pa.large_string()))


def _complete(column: Any, name: str) -> Any:
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise BadRowError(row, f"column {clipped(name)} is empty")
    return column
