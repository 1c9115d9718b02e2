"""Compare the methods of broadphase with one another and with the libraries that people use today.

`compare` runs them on standard scenes and checks every answer; `PEERS` lists who is compared with; `median_times` is
how everything is timed.
"""

from broadphase.bench.compare import Comparison, Contestant, Outcome, compare, contestants, known_scenes, method_names
from broadphase.bench.extras import load
from broadphase.bench.json_form import as_json, from_json
from broadphase.bench.peers import PEERS, Peer, installed_version, peer, unsuited
from broadphase.bench.plot import plot_comparison
from broadphase.bench.progress import progress_bar
from broadphase.bench.table import (
    comparison_tables,
    duration,
    factor,
    grouped,
    plain_table,
    show_choices,
    show_comparison,
    show_table,
)
from broadphase.bench.timing import Timing, argsort_call, median_times, one_core, timed

__all__ = [
    "PEERS",
    "Comparison",
    "Contestant",
    "Outcome",
    "Peer",
    "Timing",
    "argsort_call",
    "as_json",
    "compare",
    "comparison_tables",
    "contestants",
    "duration",
    "factor",
    "from_json",
    "grouped",
    "installed_version",
    "known_scenes",
    "load",
    "median_times",
    "method_names",
    "one_core",
    "peer",
    "plain_table",
    "plot_comparison",
    "progress_bar",
    "show_choices",
    "show_comparison",
    "show_table",
    "timed",
    "unsuited",
]
