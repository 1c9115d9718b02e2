"""The command ``python -m benchmarks.adapters``."""

from __future__ import annotations

import argparse

from benchmarks import adapters
from benchmarks.measuring import describe_machine, footnote, one_core
from benchmarks.tables import show_table

parser = argparse.ArgumentParser(prog="python -m benchmarks.adapters", description="Our drop-ins beside the originals.")
parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help="default: all that are installed")
parser.add_argument("--quick", action="store_true", help="a fifth of the time")
chosen = parser.parse_args()
with one_core():
    measured = list(adapters.rows(0.2 if chosen.quick else 1.0, chosen.libraries))
COLUMNS = ("call", "ours", "theirs", "ratio", "", "target", "", "note")
show_table(COLUMNS, [row.cells() for row in measured], "Adapters")
print(footnote(describe_machine()))
