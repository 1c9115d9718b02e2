"""Compare broadphase with the libraries that are installed, and write the figures that the README shows.

    python -m benchmarks pairs             # all overlapping pairs; a minute and a half
    python -m benchmarks queries           # queries of indexes; two minutes
    python -m benchmarks worlds            # steps of whole worlds; a minute and a half
    python -m benchmarks list              # scenes, methods, queries and libraries
    python -m benchmarks.readme_table      # then puts the figures into README.md

The figures go to benchmarks/results, as JSON and as plots. The exit code is 1 when an answer was wrong.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import load, progress_bar
from benchmarks.pairs import as_json, compare, contestants, measure_work, method_names, show_choices, show_comparison
from benchmarks.peers import PEERS
from benchmarks.plots import plot_comparison, plot_queries
from benchmarks.queries import TASKS, compare_queries, queries_as_json, show_queries, show_query_choices
from benchmarks.world_scenes import WORLD_SCENES
from benchmarks.worlds import compare_worlds, show_worlds, worlds_as_json
from broadphase.testing import SCENES

RESULTS = Path(__file__).resolve().parent / "results"


def pairs(chosen: argparse.Namespace) -> int:
    """Compare all methods and libraries at finding all pairs."""
    load("matplotlib")  # before a minute of work, not after it
    competing = contestants(chosen.method, [] if chosen.no_peers else chosen.peer)
    with progress_bar() as progress:
        comparison = compare(
            chosen.scene, chosen.size, competing, budget=chosen.budget, slowest=chosen.slowest, progress=progress
        )
    show_comparison(comparison)
    write(chosen.json, as_json(comparison))
    works = measure_work(chosen.scene, chosen.size) if chosen.work else ()
    plot_comparison(comparison, chosen.plot, works)
    return 1 if comparison.wrong else 0


def queries(chosen: argparse.Namespace) -> int:
    """Compare the indexes with other libraries at queries."""
    load("matplotlib")
    with progress_bar() as progress:
        comparison = compare_queries(chosen.task, chosen.boxes, budget=chosen.budget, progress=progress)
    show_queries(comparison)
    write(chosen.json, queries_as_json(comparison))
    plot_queries(comparison, chosen.plot)
    return 1 if comparison.wrong else 0


def worlds(chosen: argparse.Namespace) -> int:
    """Compare steps of whole worlds."""
    with progress_bar() as progress:
        comparison = compare_worlds(chosen.scenes, share=chosen.share, budget=chosen.budget, progress=progress)
    show_worlds(comparison)
    write(chosen.json, worlds_as_json(comparison))
    return 1 if comparison.wrong else 0


def show_list(chosen: argparse.Namespace) -> int:
    """List scenes, methods, queries and libraries."""
    del chosen
    show_choices()
    show_query_choices()
    return 0


def write(path: Path, figures: dict[str, Any]) -> None:
    """Write figures as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, indent=1) + "\n")


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    shape = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, formatter_class=shape)
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    one = commands.add_parser("pairs", help="find all overlapping pairs", description=pairs.__doc__)
    one.set_defaults(run=pairs)
    one.add_argument("--scene", nargs="+", choices=sorted(SCENES), default=["rects", "uniform", "lognormal"])
    one.add_argument("--size", nargs="+", type=int, default=[1_000, 10_000, 100_000], help="numbers of boxes")
    one.add_argument("--method", nargs="+", choices=method_names(), default=["auto"])
    one.add_argument("--peer", nargs="+", choices=[row.name for row in PEERS], help="libraries (all installed ones)")
    one.add_argument("--no-peers", action="store_true", help="compare only the methods of broadphase")
    one.add_argument("--budget", type=float, default=75.0, help="seconds for everything, roughly (75)")
    one.add_argument("--slowest", type=float, default=20.0, help="skip libraries slower than this many seconds (20)")
    one.add_argument("--json", type=Path, default=RESULTS / "pairs.json", metavar="FILE")
    one.add_argument("--plot", type=Path, default=RESULTS / "speed.svg", metavar="FILE")
    one.add_argument("--work", action="store_true", help="also plot the tests and the memory of each method")

    one = commands.add_parser("queries", help="query indexes", description=queries.__doc__)
    one.set_defaults(run=queries)
    one.add_argument("--task", nargs="+", choices=[task.name for task in TASKS], help="kinds of query (all)")
    one.add_argument("--budget", type=float, default=120.0, help="seconds for everything, roughly (120)")
    one.add_argument("--boxes", type=int, default=100_000, help="number of boxes (100000)")
    one.add_argument("--json", type=Path, default=RESULTS / "queries.json", metavar="FILE")
    one.add_argument("--plot", type=Path, default=RESULTS / "queries.svg", metavar="FILE")

    one = commands.add_parser("worlds", help="step whole worlds", description=worlds.__doc__)
    one.set_defaults(run=worlds)
    one.add_argument("--budget", type=float, default=60.0, help="seconds for all timed steps, roughly (60)")
    one.add_argument("--share", type=float, default=1.0, help="share of the bodies of each scene (1)")
    one.add_argument("--scenes", nargs="+", choices=WORLD_SCENES, help="scenes (all)")
    one.add_argument("--json", type=Path, default=RESULTS / "worlds.json", metavar="FILE")

    commands.add_parser("list", help="list what can be chosen", description=show_list.__doc__).set_defaults(
        run=show_list
    )
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one comparison."""
    chosen = parser().parse_args(arguments)
    answer: int = chosen.run(chosen)
    return answer


if __name__ == "__main__":
    raise SystemExit(main())
