"""The folder of the results: files that are whole, and a record of which tiles they hold, so that a run can go on."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from broadphase.errors import quoted
from broadphase.files import path_of
from broadphase.scale.locks import LOCK
from broadphase.scale.places import LocalPlace, place_at
from broadphase.scale.planning import Plan
from broadphase.scale.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OTHERWISE", "Output"]

_MANIFEST, _PLAN, _REPORT = "_manifest.json", "_plan.json", "_report.json"
_FINISHED, _SCRATCH = "_finished.jsonl", "_scratch"
_KIND = "broadphase pairs"
_RESULT = re.compile(r"pairs-(wide|\d{6,})\.parquet")
# What reading a damaged text may raise, such as JSON that is nested too deep.
_DAMAGES = (ValueError, KeyError, TypeError, RecursionError, OverflowError)
T = TypeVar("T")
OTHERWISE = "use another folder, or replace them by resume=False (--no-resume)"


class Output:
    """A folder or an address that fills with one file for each tile; it is made if there is none.

    Readers of tables pass over names that begin with an underscore, so at any time they see whole files only. `facts`
    are what the results depend on. With `resume`, a run goes on with what is there; without, the files of an earlier
    run are deleted. `scratch` is for what is not a result: by default a folder within, or a temporary one for an
    address. Raises FileExistsError if the folder holds the results of other boxes or options, a damaged record of them,
    or files of another kind, or if another run is writing to it: it is locked until `stop`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        facts: dict[str, Any],
        *,
        resume: bool,
        scratch: str | os.PathLike[str] | None = None,
    ) -> None:
        self.place = place_at(folder)
        self.finished: dict[str, dict[str, Any]] = {}
        # Of an earlier run: its report if it came to its end; its plan, and how many rows it read at a time.
        self.stored_report: Report | None = None
        self.stored_plan: tuple[Plan, int] | None = None
        self._scratch: Path | None = None
        self._scratch_home: Path | None = None  # None: a temporary folder
        if scratch is not None:
            where = os.path.realpath(self.place.folder) if isinstance(self.place, LocalPlace) else str(self.place)
            key = hashlib.sha256(json.dumps([where, facts]).encode()).hexdigest()[:16]
            self._scratch_home = path_of(scratch) / f"broadphase-{key}"
        elif isinstance(self.place, LocalPlace):
            self._scratch_home = self.place.folder / _SCRATCH
        self._is_new = not self.place.exists()
        self._is_used()  # before anything is written into a folder of others
        self._lock = self.place.lock()
        try:
            self._begin(facts, resume)
        except BaseException:
            self._lock.release()
            if self._is_new:
                self.place.remove()
            raise

    def _is_used(self) -> bool:
        """Return whether there are results; FileExistsError if there are other files."""
        # A run that was killed before its first file may have left a lock, and an unfinished manifest.
        names = {name for name in self.place.names() if name != LOCK and not name.startswith(f".{_MANIFEST}.")}
        if names and _MANIFEST not in names:
            raise FileExistsError(f"{self.place} holds other files; output must be a new or an empty folder")
        return bool(names)

    def _begin(self, facts: dict[str, Any], resume: bool) -> None:
        if self._is_used():
            before = self._manifest()
            if resume:
                self._go_on(before, facts)
                return
            self._clear()
        self.place.write(_MANIFEST, json.dumps({"kind": _KIND, **facts}))

    def _manifest(self) -> dict[str, Any]:
        try:
            before = json.loads(self.place.read(_MANIFEST) or "")
            kind = before.pop("kind")
        except (*_DAMAGES, AttributeError):
            kind = None
        if kind != _KIND:
            raise FileExistsError(
                f"{self.place}: {_MANIFEST} is damaged, or not of this program; output must be a new or an empty folder"
            )
        return dict(before)

    def _go_on(self, before: dict[str, Any], facts: dict[str, Any]) -> None:
        """Check all that an earlier run has recorded, before anything is written."""
        options = before.get("options")
        if not isinstance(options, dict):
            raise self._damaged(_MANIFEST)
        if before.get("input") != facts["input"]:
            raise FileExistsError(f"{self.place} holds results of other input; {OTHERWISE}")
        for name, value in facts["options"].items():
            was = options.get(name)
            if was != value:
                raise FileExistsError(
                    f"{self.place} holds results of other options: {name} was {quoted(was)}, and is {quoted(value)}; "
                    f"{OTHERWISE}"
                )
        lines = self._stored(_FINISHED, _lines_of) or []
        whole = [line for line in lines if line["file"] is None or self.place.size(line["file"]) == line["bytes"]]
        self.finished = {line["tile"]: line for line in whole}
        self.stored_plan = self._stored(_PLAN, _plan_of)
        report = self._stored(_REPORT, _report_of)
        self.stored_report = report if len(whole) == len(lines) else None
        self.place.delete_unfinished()

    def _stored(self, name: str, parse: Callable[[str], T]) -> T | None:
        """Return what a file of the folder says; None if there is none, FileExistsError if it is damaged."""
        try:
            text = self.place.read(name)
            return None if text is None else parse(text)
        except _DAMAGES as error:
            raise self._damaged(name) from error

    def _damaged(self, name: str) -> FileExistsError:
        return FileExistsError(f"{self.place}: {name} is damaged; {OTHERWISE}")

    def _clear(self) -> None:
        """Delete what an earlier run has written, the manifest last."""
        self._lock.check()
        for name in self.place.names():
            if _RESULT.fullmatch(name):
                self.place.delete(name)
        self.place.delete_unfinished()
        self._delete_scratch()
        for name in (_FINISHED, _PLAN, _REPORT, _MANIFEST):
            self.place.delete(name)

    def store_report(self, report: Report) -> None:
        """Keep the report, and delete what is not a result."""
        self._lock.check()
        self.place.flush()
        self.place.write(_REPORT, json.dumps(report.to_dict()))
        self._delete_scratch()

    def give_up(self) -> None:
        """Delete all but the results, after an error; everything if there are none."""
        self._delete_scratch()
        if self.finished:
            self.place.flush()
            return
        self._clear()
        if self._is_new:
            self._lock.release()
            self.place.remove()

    def stop(self) -> None:
        """Leave what there is to a later run, if there is one."""
        try:
            self.place.flush()
            if self._scratch_home is None:
                self._delete_scratch()
        finally:
            self._lock.release()

    def store_plan(self, plan: Plan, rows: int) -> None:
        """Keep the plan for a later run."""
        self._lock.check()
        self.place.write(_PLAN, json.dumps({"plan": plan.to_json(), "rows": rows}))

    @property
    def scratch(self) -> Path:
        """A folder on this machine for what is not a result, once the plan is stored."""
        if self._scratch is None:
            home = self._scratch_home
            self._scratch = Path(tempfile.mkdtemp(prefix="broadphase-")) if home is None else self._opened(home)
        return self._scratch

    @property
    def shared_scratch(self) -> Path | None:
        """A folder for what is not a result, there for all machines that share the results; None if there is none."""
        return self.scratch if isinstance(self.place, LocalPlace) else None

    def _opened(self, home: Path) -> Path:
        # What was divided by another plan is of no use: the results may have been deleted in between.
        plan, mark = (self.place.read(_PLAN) or "").encode(), home / _PLAN
        if not mark.exists() or mark.read_bytes() != plan:
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(parents=True)
            mark.write_bytes(plan)
        return home

    def _delete_scratch(self) -> None:
        path = self._scratch or self._scratch_home
        if path is not None:
            shutil.rmtree(path, ignore_errors=True)
        self._scratch = None

    def finish(self, tile: str, file: str | None, pairs: int) -> int:
        """Record that a tile is done, after its file has its name; return the size of the file."""
        self._lock.check()
        size = self.place.size(file) if file else 0
        if size is None:
            raise FileNotFoundError(f"{self.place}: {file} is not there")
        line = {"tile": tile, "file": file, "pairs": pairs, "bytes": size}
        self.place.append(_FINISHED, json.dumps(line))
        self.finished[tile] = line
        return size


def _lines_of(text: str) -> list[dict[str, Any]]:
    # What follows the last line end, or lacks its own end, was not written to its end.
    lines = [json.loads(line) for line in text.split("\n")[:-1] if line.startswith("{") and line.endswith("}")]
    for line in lines:
        file, pairs, size = line["file"], line["pairs"], line["bytes"]
        if file is None:
            is_whole = isinstance(line["tile"], str) and pairs == size == 0
        else:
            found = _RESULT.fullmatch(file)
            is_whole = found is not None and found[1] == line["tile"]
        if not is_whole or not _is_count(pairs) or not _is_count(size):
            raise ValueError(f"a line is {quoted(line)}")
    return lines


def _plan_of(text: str) -> tuple[Plan, int]:
    facts = json.loads(text)
    rows = facts["rows"]
    if not _is_count(rows) or rows == 0:
        raise ValueError(f"rows is {quoted(rows)}")
    return Plan.from_json(facts["plan"]), rows


def _report_of(text: str) -> Report:
    facts = json.loads(text)
    facts["resumed_tiles"] = facts["tiles"]
    return Report.from_dict(facts)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63
