"""The lines of a report of speed targets: what was measured, in which unit, and what it may be."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.measuring import Timing
from benchmarks.tables import duration, grouped


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report; `measured` and `target` are in `unit`, and lower is better unless `at_least`."""

    what: str
    measured: float
    unit: str
    target: float | None = None
    at_least: bool = False
    milliseconds: float | None = None
    yardstick: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """True or False; None where there is no target."""
        if self.target is None:
            return None
        shown = round(self.measured, 2)
        return shown >= self.target if self.at_least else shown <= self.target

    def cells(self) -> list[str]:
        """Return the cells of the printed table."""
        target = "" if self.target is None else f"{'≥' if self.at_least else '≤'} {self.target:g}"
        verdict = {None: "", True: "met", False: "MISSED"}[self.met]
        value = f"{self.measured:,.2f}" if self.measured < 1000 else grouped(round(self.measured))
        return [
            self.what,
            duration(self.milliseconds),
            duration(self.yardstick),
            value,
            self.unit,
            target,
            verdict,
            self.note,
        ]


def in_t(what: str, timing: Timing, sort: Timing, target: float | None, note: str = "") -> Row:
    """Make a row of a time as a multiple of T."""
    return Row(
        what, timing.milliseconds / sort.milliseconds, "T", target, False, timing.milliseconds, sort.milliseconds, note
    )


def ratio(what: str, timing: Timing, base: Timing, target: float, scale: float = 1.0, note: str = "") -> Row:
    """Make a row of a time as a multiple of another."""
    value = timing.milliseconds / base.milliseconds * scale
    return Row(what, value, "×", target, False, timing.milliseconds, base.milliseconds, note)
