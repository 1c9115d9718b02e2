"""The folder of the results: files that are whole, and a record of which tiles they hold, so that a run can go on."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broadphase.errors import quoted
from broadphase.files import replacing
from broadphase.scale.planning import Plan
from broadphase.scale.report import Report

if TYPE_CHECKING:
    import os

__all__ = ["OTHERWISE", "Output"]

_MANIFEST, _PLAN, _FINISHED, _REPORT, _SCRATCH = (
    *("_manifest.json", "_plan.json", "_finished.jsonl", "_report.json", "_scratch"),
)
_KIND = "broadphase pairs"
OTHERWISE = "use another folder, or replace them by resume=False (--no-resume)"


class Output:
    """A folder that fills with one file for each tile.

    Readers of tables pass over names that begin with an underscore, so at any time they see whole files only.

    Parameters
    ----------
    folder : path-like
        The folder; made if there is none.
    facts : dict
        What the results depend on: the same in every run that goes on with them.
    resume : bool
        Whether to go on with what is there; otherwise the files of an earlier run are deleted.

    Raises
    ------
    FileExistsError
        The folder holds the results of other boxes or options, or files of another kind.
    """

    def __init__(self, folder: str | os.PathLike[str], facts: dict[str, Any], *, resume: bool) -> None:
        self.folder = Path(folder)
        self.finished: dict[str, dict[str, Any]] = {}
        manifest = self.folder / _MANIFEST
        if self.folder.exists() and not self.folder.is_dir():
            raise FileExistsError(f"{self.folder} is a file, not a folder")
        if self.folder.is_dir() and any(self.folder.iterdir()) and not manifest.exists():
            raise FileExistsError(f"{self.folder} holds other files; output must be a new or an empty folder")
        self._is_new = not self.folder.exists()
        self.is_complete = True
        self.folder.mkdir(parents=True, exist_ok=True)
        if manifest.exists() and not resume:
            self._clear()
        elif manifest.exists():
            self._go_on(manifest, facts)
        if not manifest.exists():
            with replacing(manifest) as unfinished:
                unfinished.write_text(json.dumps({"kind": _KIND, **facts}), "utf-8")

    def _go_on(self, manifest: Path, facts: dict[str, Any]) -> None:
        try:
            before = json.loads(manifest.read_text("utf-8"))
            kind = before.pop("kind")
        except (ValueError, KeyError, AttributeError):
            kind = None
        if kind != _KIND:
            raise FileExistsError(f"{manifest} is not of this program; output must be a new or an empty folder")
        if before.get("input") != facts["input"]:
            raise FileExistsError(f"{self.folder} holds results of other input; {OTHERWISE}")
        for name, value in facts["options"].items():
            was = before.get("options", {}).get(name)
            if was != value:
                raise FileExistsError(
                    f"{self.folder} holds results of other options: {name} was {quoted(was)}, and is {quoted(value)}; "
                    f"{OTHERWISE}"
                )
        for line in self._lines():
            path = self.folder / line["file"] if line["file"] else None
            if path is None or (path.exists() and path.stat().st_size == line["bytes"]):
                self.finished[line["tile"]] = line
            else:
                self.is_complete = False

    def _lines(self) -> list[dict[str, Any]]:
        try:
            text = (self.folder / _FINISHED).read_text("utf-8")
        except FileNotFoundError:
            return []
        # What follows the last line end was not written to its end.
        return [json.loads(line) for line in text.split("\n")[:-1] if line.startswith("{") and line.endswith("}")]

    def _clear(self) -> None:
        """Delete what an earlier run has written, the manifest last."""
        for line in self._lines():
            if line["file"]:
                (self.folder / line["file"]).unlink(missing_ok=True)
        shutil.rmtree(self.folder / _SCRATCH, ignore_errors=True)
        for name in (_FINISHED, _PLAN, _REPORT):
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / _MANIFEST).unlink()

    def stored_report(self) -> Report | None:
        """Return the report of an earlier run that came to its end; None if one of its files is missing."""
        try:
            facts = json.loads((self.folder / _REPORT).read_text("utf-8"))
        except FileNotFoundError:
            return None
        facts["resumed_tiles"] = facts["tiles"]
        return Report(**facts) if self.is_complete else None

    def store_report(self, report: Report) -> None:
        """Keep the report, and delete what is not a result."""
        with replacing(self.folder / _REPORT) as unfinished:
            unfinished.write_text(json.dumps(asdict(report)), "utf-8")
        shutil.rmtree(self.folder / _SCRATCH, ignore_errors=True)

    def give_up(self) -> None:
        """Delete all but the results, after an error; everything if there are none."""
        shutil.rmtree(self.folder / _SCRATCH, ignore_errors=True)
        if not self.finished:
            self._clear()
            if self._is_new:
                self.folder.rmdir()

    def stored_plan(self) -> tuple[Plan, int] | None:
        """Return the plan of an earlier run, and how many rows it read at a time."""
        try:
            text = (self.folder / _PLAN).read_text("utf-8")
        except FileNotFoundError:
            return None
        facts = json.loads(text)
        return Plan.from_json(facts["plan"]), int(facts["rows"])

    def store_plan(self, plan: Plan, rows: int) -> None:
        """Keep the plan for a later run."""
        with replacing(self.folder / _PLAN) as unfinished:
            unfinished.write_text(json.dumps({"plan": plan.to_json(), "rows": rows}), "utf-8")

    @property
    def scratch(self) -> Path:
        """A folder for what is not a result."""
        path = self.folder / _SCRATCH
        path.mkdir(exist_ok=True)
        return path

    def finish(self, tile: str, file: str | None, pairs: int) -> int:
        """Record that a tile is done, after its file has its name; return the size of the file."""
        size = (self.folder / file).stat().st_size if file else 0
        line = {"tile": tile, "file": file, "pairs": pairs, "bytes": size}
        with (self.folder / _FINISHED).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        self.finished[tile] = line
        return size
