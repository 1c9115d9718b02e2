"""Compare the methods of broadphase with one another and with the libraries that people use today.

`compare` runs them on standard scenes and checks every answer, `compare_queries` asks indexes, and `compare_worlds`
steps worlds; `PEERS`, `QUERY_PEERS` and `WORLD_PEERS` list who is compared with; `median_times` is how everything is
timed.
"""

from broadphase.bench.compare import Comparison, Contestant, Outcome, compare, contestants, known_scenes, method_names
from broadphase.bench.extras import load
from broadphase.bench.json_form import as_json, from_json, queries_as_json, queries_from_json
from broadphase.bench.peers import PEERS, Peer, installed_version, peer, unsuited
from broadphase.bench.plot import plot_comparison
from broadphase.bench.progress import progress_bar
from broadphase.bench.query_contest import QueryComparison, QueryOutcome, compare_queries
from broadphase.bench.query_peers import QUERY_PEERS, QueryPeer
from broadphase.bench.query_plot import plot_queries
from broadphase.bench.query_table import best_other, first_own, query_tables, ratio, show_queries, show_query_choices
from broadphase.bench.query_tasks import TASKS, Task, task_named
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
from broadphase.bench.work import Work, measure_work
from broadphase.bench.world_contest import (
    WorldComparison,
    WorldOutcome,
    compare_worlds,
    worlds_as_json,
    worlds_from_json,
)
from broadphase.bench.world_peers import WORLD_PEERS, WorldPeer
from broadphase.bench.world_scenes import WORLD_SCENES, WorldScene, world_scene
from broadphase.bench.world_table import own_step, scene_title, show_worlds

__all__ = [
    "PEERS",
    "QUERY_PEERS",
    "TASKS",
    "WORLD_PEERS",
    "WORLD_SCENES",
    "Comparison",
    "Contestant",
    "Outcome",
    "Peer",
    "QueryComparison",
    "QueryOutcome",
    "QueryPeer",
    "Task",
    "Timing",
    "Work",
    "WorldComparison",
    "WorldOutcome",
    "WorldPeer",
    "WorldScene",
    "argsort_call",
    "as_json",
    "best_other",
    "compare",
    "compare_queries",
    "compare_worlds",
    "comparison_tables",
    "contestants",
    "duration",
    "factor",
    "first_own",
    "from_json",
    "grouped",
    "installed_version",
    "known_scenes",
    "load",
    "measure_work",
    "median_times",
    "method_names",
    "one_core",
    "own_step",
    "peer",
    "plain_table",
    "plot_comparison",
    "plot_queries",
    "progress_bar",
    "queries_as_json",
    "queries_from_json",
    "query_tables",
    "ratio",
    "scene_title",
    "show_choices",
    "show_comparison",
    "show_queries",
    "show_query_choices",
    "show_table",
    "show_worlds",
    "task_named",
    "timed",
    "unsuited",
    "world_scene",
    "worlds_as_json",
    "worlds_from_json",
]
