"""The folder of the results: files that are whole, and a record of which tiles they hold, so that a run can go on."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broadphase.errors import quoted
from broadphase.files import path_of
from broadphase.scale.places import LocalPlace, place_at
from broadphase.scale.planning import Plan
from broadphase.scale.report import Report

if TYPE_CHECKING:
    import os

__all__ = ["OTHERWISE", "Output"]

_MANIFEST, _PLAN, _REPORT = "_manifest.json", "_plan.json", "_report.json"
_FINISHED, _SCRATCH = "_finished.jsonl", "_scratch"
_KIND = "broadphase pairs"
OTHERWISE = "use another folder, or replace them by resume=False (--no-resume)"


class Output:
    """A folder or an address that fills with one file for each tile; it is made if there is none.

    Readers of tables pass over names that begin with an underscore, so at any time they see whole files only. `facts`
    are what the results depend on. With `resume`, a run goes on with what is there; without, the files of an earlier
    run are deleted. `scratch` is for what is not a result: by default a folder within, or a temporary one for an
    address. Raises FileExistsError if the folder holds the results of other boxes or options, or files of another kind.
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
        self.is_complete = True
        self._scratch: Path | None = None
        self._scratch_home: Path | None = None  # None: a temporary folder
        if scratch is not None:
            key = hashlib.sha256(json.dumps([str(self.place), facts]).encode()).hexdigest()[:16]
            self._scratch_home = path_of(scratch) / f"broadphase-{key}"
        elif isinstance(self.place, LocalPlace):
            self._scratch_home = self.place.folder / _SCRATCH
        self._is_new = not self.place.exists()
        names = self.place.names()
        if names and _MANIFEST not in names:
            raise FileExistsError(f"{self.place} holds other files; output must be a new or an empty folder")
        self.place.make()
        if _MANIFEST in names and resume:
            self._go_on(facts)
            return
        if _MANIFEST in names:
            self._clear()
        try:
            self.place.write(_MANIFEST, json.dumps({"kind": _KIND, **facts}))
        except OSError:
            if self._is_new:
                self.place.remove()
            raise

    def _go_on(self, facts: dict[str, Any]) -> None:
        try:
            before = json.loads(self.place.read(_MANIFEST) or "")
            kind = before.pop("kind")
        except (ValueError, KeyError, AttributeError):
            kind = None
        if kind != _KIND:
            raise FileExistsError(
                f"{self.place}: {_MANIFEST} is not of this program; output must be a new or an empty folder"
            )
        if before.get("input") != facts["input"]:
            raise FileExistsError(f"{self.place} holds results of other input; {OTHERWISE}")
        for name, value in facts["options"].items():
            was = before.get("options", {}).get(name)
            if was != value:
                raise FileExistsError(
                    f"{self.place} holds results of other options: {name} was {quoted(was)}, and is {quoted(value)}; "
                    f"{OTHERWISE}"
                )
        for line in self._lines():
            if line["file"] is None or self.place.size(line["file"]) == line["bytes"]:
                self.finished[line["tile"]] = line
            else:
                self.is_complete = False
        self.place.delete_unfinished()

    def _lines(self) -> list[dict[str, Any]]:
        text = self.place.read(_FINISHED) or ""
        # What follows the last line end, or lacks its own end, was not written to its end.
        return [json.loads(line) for line in text.split("\n")[:-1] if line.startswith("{") and line.endswith("}")]

    def _clear(self) -> None:
        """Delete what an earlier run has written, the manifest last."""
        for line in self._lines():
            if line["file"]:
                self.place.delete(line["file"])
        self.place.delete_unfinished()
        self._delete_scratch()
        for name in (_FINISHED, _PLAN, _REPORT, _MANIFEST):
            self.place.delete(name)

    def stored_report(self) -> Report | None:
        """Return the report of an earlier run that came to its end; None if one of its files is missing."""
        text = self.place.read(_REPORT)
        if text is None or not self.is_complete:
            return None
        facts = json.loads(text)
        facts["resumed_tiles"] = facts["tiles"]
        return Report(**facts)

    def store_report(self, report: Report) -> None:
        """Keep the report, and delete what is not a result."""
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
            self.place.remove()

    def stop(self) -> None:
        """Leave what there is to a later run, if there is one."""
        self.place.flush()
        if self._scratch_home is None:
            self._delete_scratch()

    def stored_plan(self) -> tuple[Plan, int] | None:
        """Return the plan of an earlier run, and how many rows it read at a time."""
        text = self.place.read(_PLAN)
        if text is None:
            return None
        facts = json.loads(text)
        return Plan.from_json(facts["plan"]), int(facts["rows"])

    def store_plan(self, plan: Plan, rows: int) -> None:
        """Keep the plan for a later run."""
        self.place.write(_PLAN, json.dumps({"plan": plan.to_json(), "rows": rows}))

    @property
    def scratch(self) -> Path:
        """A folder on this machine for what is not a result, once the plan is stored."""
        if self._scratch is None:
            self._scratch = self._opened_scratch(self._scratch_home)
        return self._scratch

    @property
    def shared_scratch(self) -> Path | None:
        """A folder for what is not a result, there for all machines that share the results; None if there is none."""
        return self.scratch if isinstance(self.place, LocalPlace) else None

    def _opened_scratch(self, home: Path | None) -> Path:
        if home is None:
            return Path(tempfile.mkdtemp(prefix="broadphase-"))
        # What was divided by another plan is of no use: the results may have been deleted in between.
        plan, mark = self.place.read(_PLAN) or "", home / _PLAN
        if not mark.exists() or mark.read_text("utf-8") != plan:
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(parents=True)
            mark.write_text(plan, "utf-8")
        return home

    def _delete_scratch(self) -> None:
        path = self._scratch or self._scratch_home
        if path is not None:
            shutil.rmtree(path, ignore_errors=True)
        self._scratch = None

    def finish(self, tile: str, file: str | None, pairs: int) -> int:
        """Record that a tile is done, after its file has its name; return the size of the file."""
        size = self.place.size(file) if file else 0
        if size is None:
            raise FileNotFoundError(f"{self.place}: {file} is not there")
        line = {"tile": tile, "file": file, "pairs": pairs, "bytes": size}
        self.place.append(_FINISHED, json.dumps(line))
        self.finished[tile] = line
        return size
