"""The pairs of the boxes in files, written to files."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broadphase.arguments import as_flag
from broadphase.errors import clipped, quoted, unknown_name
from broadphase.progress import Progress, reporting
from broadphase.scale.addresses import is_address
from broadphase.scale.columns import BoxColumns, arrow, as_names
from broadphase.scale.local import find_pairs, plan_of, tile_rows
from broadphase.scale.output import Output
from broadphase.scale.source import is_hidden, matching_paths, open_source
from broadphase.tables.arrow import plain_type
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from broadphase.scale.planning import Plan
    from broadphase.scale.report import Report
    from broadphase.scale.source import Source

__all__ = ["pairs", "plan"]

_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_LEAST_MEMORY = 1 << 24
_ENGINES = ("local", "ray")
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}  # errors that pyarrow gives no name


def as_bytes(value: Any, name: str) -> int:
    """Turn "2GB", "500 MiB" or a number of bytes into bytes.

    >>> as_bytes("2GB", "memory"), as_bytes("1 GiB", "memory")
    (2000000000, 1073741824)
    """
    text = str(value).strip().lower() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([kmgt]?i?)b?", text)
    if match is None or match[2] not in _UNITS:
        raise ValueError(f'{name} must be a number of bytes or text such as "2GB", not {quoted(value)}')
    count = int(float(match[1]) * _UNITS[match[2]])
    if count < _LEAST_MEMORY:
        raise ValueError(f"{name} must be at least {_LEAST_MEMORY // 2**20} MiB, not {quoted(value)}")
    return count


def plan(
    files: Any,
    other: Any = None,
    *,
    lower: Sequence[str] = ("x0", "y0", "z0"),
    upper: Sequence[str] = ("x1", "y1", "z1"),
    tile_memory: str | int = "256MB",
) -> Plan:
    """Divide space into tiles for the boxes of files, judged by a sample of them.

    Parameters
    ----------
    files, other, lower, upper
        As in `pairs`.
    tile_memory : str or int
        Bytes that the boxes of one tile take while they are joined, such as "256MB".

    Returns
    -------
    Plan
        See `Plan.to_json`, and `Plan.bounds` for pictures.

    Raises
    ------
    FileNotFoundError, FileFormatError, MissingExtraError
        As `pairs`.
    """
    columns = BoxColumns(None, as_names(lower, "lower"), as_names(upper, "upper"))
    sources = [open_source(one, columns) for one in ((files,) if other is None else (files, other))]
    rows = sum(source.box_count for source in sources)
    row_bytes = max(source.row_bytes for source in sources)
    return plan_of(
        [source.sample() for source in sources], rows, tile_rows(as_bytes(tile_memory, "tile_memory"), row_bytes)
    )


def pairs(
    files: Any,
    other: Any = None,
    *,
    output: str | os.PathLike[str] | None,
    id: str | None = "id",
    lower: Sequence[str] = ("x0", "y0", "z0"),
    upper: Sequence[str] = ("x1", "y1", "z1"),
    keep: Sequence[str] = (),
    workers: int = -1,
    touching: bool = True,
    margin: float = 0.0,
    layer: str | None = None,
    mask: str | None = None,
    group: str | None = None,
    batch: str | None = None,
    engine: str = "local",
    address: str | None = None,
    memory: str | int = "2GB",
    plan: Plan | None = None,
    resume: bool = True,
    scratch: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Report:
    """Find every pair of overlapping boxes in files, and write the pairs to files, in bounded memory.

    Parameters
    ----------
    files, other : str, path-like or sequence of them
        Files, folders (all files below, but for names that begin with a dot or an underscore) and patterns with ``*``;
        with ``scheme://`` in front, on any file system of pyarrow. Parquet, Arrow IPC and .npy. With `other`, pairs are
        of a box of the first set and one of the second.
    output : path-like, optional
        A folder, new or empty, or that of an earlier run; with ``scheme://`` in front, on any file system of pyarrow.
        It gets a Parquet file for each tile that has pairs: columns
        ``first`` and ``second`` with the ids of each pair (in one set the smaller first), and ``first_<name>`` and
        ``second_<name>`` for each column that is kept. None, with a Ray that is connected already: the pairs are
        ``report.dataset``, a ``ray.data.Dataset``.
    id : str, optional
        The column that names each box, integers or text, each once. None: the row of each box, counted over the files
        in the order of their names.
    lower, upper : sequence of str
        The columns of the lower corner and of the upper one, one per axis, 1 to 4. float32 if all are, otherwise
        float64. Of .npy files, all numbers of a row are corners.
    keep : sequence of str
        Columns that come along with each pair.
    touching, margin
        As in `broadphase.pairs`.
    layer, mask, group, batch : str, optional
        The columns of these options of `broadphase.pairs`.
    engine : {"local", "ray"}
        "local": threads of this process. "ray": tasks of Ray, on one machine or on many, which retries what is lost
        with a process or a machine; needs ``pip install "broadphase[ray]"``, on all of them. Then `files` and `other`
        may be a ``ray.data.Dataset``, too; they and `output` must be where all machines find them.
    address : str, optional
        Of a running cluster of Ray, such as "auto" or "ray://host:10001". Default: the cluster that this process is
        connected to, and that is left as it is; or that of the variable RAY_ADDRESS; or one that is started on this
        machine, and ended.
    memory : str or int
        Bytes to use, such as "2GB"; besides, Python and its libraries take up to 300 MB. With Ray, on each machine;
        half of it for the store of objects of a Ray that is started here. Each process of Ray takes up to 300 MB more.
    workers : int
        Threads, or tasks of Ray at a time; -1 for one per core.
    plan : Plan, optional
        The tiles; does not change the result. Default: made from a sample, so that a tile fits into memory.
    resume : bool
        Go on where an earlier run with the same input stopped, with either engine. Not with a data set of Ray, which
        cannot be recognised. False: delete what it has written.
    scratch : path-like, optional
        A folder on this machine for boxes by tile, which take about as much as the input. Default: ``_scratch`` within
        `output`. If `output` is an address, a temporary one; then a run that goes on has to read all boxes again.
    progress : bool or callable, optional
        True: print on stderr, for each stage, the rows that are done, all of them, and the time that is left. Or a
        function, called with the name of a stage, the rows that are done in it, and the number of rows; what it raises
        ends the run. Default: neither.

    Returns
    -------
    Report

    Raises
    ------
    FileNotFoundError
        There are no such files.
    FileFormatError
        A file cannot be read, lacks a column, has an empty cell or an id that occurs twice; names the file and the row.
    InvalidBoxError
        NaN or lower > upper; names the file and the row.
    FileExistsError
        `output` holds the results of other boxes or other options, a damaged record of them, files of another kind, or
        what is read; or it is below a folder that is read, or another run is writing to it.
    MissingExtraError
        pyarrow or Ray is not installed.

    Notes
    -----
    Space is divided into half-open tiles by a k-d tree. Each box is given to every tile that it meets, and a pair
    belongs to the tile that holds, on every axis, the larger of its two lower corners [1]_: each pair comes out once,
    whatever the tiles, and there is nothing to sort or to compare afterwards. Boxes that meet very many tiles are kept
    apart, and each tile reads those that meet it. Tiles that turn out too large are divided again.

    `output` holds only whole files, at any time: a run that was killed goes on with the tiles that are missing. It is
    locked while a run writes to it: by the operating system where it is a folder, which ends with the process; in an
    object store by a text that changes every few seconds, so that a run after one that was killed waits for 20 s.
    What is not a result has a name with an underscore in front, which readers of tables pass over.

    References
    ----------
    .. [1] Dittrich and Seeger, "Data redundancy and duplicate detection in spatial join processing", ICDE 2000.
       doi:10.1109/ICDE.2000.839452
    """
    low, high, kept = as_names(lower, "lower"), as_names(upper, "upper"), as_names(keep, "keep")
    columns = BoxColumns(id, low, high, kept, touching, margin, layer, mask, group, batch)
    size = as_bytes(memory, "memory")
    sets, goes_on = [files] if other is None else [files, other], as_flag(resume, "resume")
    if engine not in _ENGINES:
        raise ValueError(f"engine: {unknown_name('engine', engine, _ENGINES)}")
    with reporting(progress) as told, ExitStack() as until_done:

        def opened(find: Callable[[Any], Source]) -> tuple[list[Source], Output | None]:
            if output is not None and not is_address(os.fspath(output)):
                _refuse_inputs(os.fspath(output), sets)
            sources = of_one_dtype([find(one) for one in sets])
            return sources, until_done.enter_context(_output(output, sources, columns, goes_on, scratch))

        if engine == "local":
            if address is not None or output is None:
                raise ValueError('address=, and output=None, are for engine="ray"')
            threads = worker_count(workers)
            sources, place = opened(lambda files: open_source(files, columns))
            assert place is not None
            return find_pairs(sources, place, memory=size, workers=threads, plan=plan, progress=told)
        # Imports Ray, which few have.
        from broadphase.scale import ray

        cluster = until_done.enter_context(ray.connected(address, workers, size, to_stay=output is None))
        sources, place = opened(lambda boxes: ray.open_input(boxes, columns, cluster))
        return ray.find_pairs(sources, place, cluster=cluster, memory=size, plan=plan, progress=told)


def _refuse_inputs(output: str, sets: list[Any]) -> None:
    """Raise FileExistsError if the folder of the results holds what is read, or is below a folder that is read."""
    folder = Path(os.path.realpath(output))
    for files in sets:
        names = [files] if isinstance(files, str | os.PathLike) else files
        if not isinstance(names, Sequence):  # a data set of Ray
            continue
        for name in (os.fspath(one) for one in names if isinstance(one, str | os.PathLike)):
            for path in () if is_address(name) else matching_paths(name):
                read = Path(os.path.realpath(path))
                if _is_below(read, folder):
                    raise FileExistsError(f"{clipped(output)} holds {clipped(path)}, which is read; use another folder")
                hidden = is_hidden(folder.parts[len(read.parts) :])
                if read.is_dir() and _is_below(folder, read) and not hidden:
                    raise FileExistsError(
                        f"{clipped(output)} is within {clipped(path)}, of which all files are read; use another folder,"
                        f" or a name that begins with an underscore"
                    )


def _is_below(path: Path, folder: Path) -> bool:
    """Return whether a path is a folder or below it, however their names are spelt."""
    return folder.exists() and any(one.exists() and one.samefile(folder) for one in (path, *path.parents))


def _check_kept(sources: list[Source], columns: BoxColumns) -> None:
    """Check, before all boxes are read, that Parquet has the types of the columns that are kept."""
    pa, parquet = arrow(), arrow("parquet")
    for source in sources:
        for name in columns.keep:
            kind = plain_type(source.schema.field(name).type)
            try:
                parquet.ParquetWriter(pa.BufferOutputStream(), pa.schema([(name, kind)])).close()
            except pa.ArrowException:
                raise ValueError(f"keep: column {clipped(name)} holds {kind}, which Parquet has not") from None


def of_one_dtype(sources: list[Source]) -> list[Source]:
    """Make the corners of both sets the wider of their dtypes."""
    dtype = max(source.dtype for source in sources)
    for source in sources:
        source.dtype = dtype
    return sources


@contextmanager
def _output(
    folder: str | os.PathLike[str] | None,
    sources: list[Source],
    columns: BoxColumns,
    resume: bool,
    scratch: str | os.PathLike[str] | None,
) -> Iterator[Output | None]:
    if folder is None:
        yield None
        return
    _check_kept(sources, columns)
    facts = {"input": [source.digest for source in sources], "options": columns.to_dict()}
    place = Output(folder, facts, resume=resume, scratch=scratch)
    try:
        yield place
    except Exception as error:  # not Ctrl-C: a later run goes on from there
        place.give_up()
        if isinstance(error, OSError) and error.errno is not None and error.errno in _FULL and error.filename is None:
            where = str(place.place) if scratch is None else f"{place.place} or {os.fspath(scratch)}"
            raise OSError(error.errno, os.strerror(error.errno), where) from error
        raise
    finally:
        place.stop()
