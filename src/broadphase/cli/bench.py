"""The command ``broadphase bench``: methods and peers on the standard scenes, checked and timed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import broadphase.bench as benchmark
from broadphase.cli.options import ProgressOption, WorkersOption


def bench(
    scene: Annotated[list[str] | None, typer.Option(help="Standard scene; again for more.")] = None,
    size: Annotated[list[int] | None, typer.Option(min=1, help="Number of boxes; again for more.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Method of broadphase; again for more.")] = None,
    peer: Annotated[list[str] | None, typer.Option(help="Other library; again for more. All by default.")] = None,
    no_peers: Annotated[bool, typer.Option("--no-peers", help="Compare only the methods of broadphase.")] = False,
    budget: Annotated[float, typer.Option(min=0.1, help="Seconds for everything, roughly.")] = 45.0,
    slowest: Annotated[float, typer.Option(min=0.001, help="Leave out who takes more seconds for one call.")] = 6.0,
    workers: WorkersOption = 1,
    dtype: Annotated[str, typer.Option(help="float32 or float64.")] = "float32",
    seed: Annotated[int, typer.Option(help="Seed of the scenes.")] = 7,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the figures as JSON; - for the screen.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw time, tests and memory: .svg, .png or .pdf.")] = None,
    progress: ProgressOption = None,
    queries: Annotated[bool, typer.Option("--queries", help="Compare what indexes are asked, not all pairs.")] = False,
    query: Annotated[list[str] | None, typer.Option(help="Kind of question for --queries; again for more.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List scenes, methods and peers, and stop.")] = False,
) -> None:
    """Compare the methods with the libraries that are installed, on standard scenes, or with --queries the indexes.

    Every answer is compared pair by pair with the right one before its time counts. Times are medians of interleaved
    runs on one core; T is the time of np.argsort of as many random float32, taken in between.

    For example:

    - `broadphase bench`

    - `broadphase bench --scene power --scene sticks --size 100000 --method auto --method grid`

    - `broadphase bench --scene rects --peer shapely --peer rtree --plot speed.svg --json speed.json`

    - `broadphase bench --queries --query rays --query nearest_8 --plot queries.png`

    - `broadphase bench --list`
    """
    if list_all:
        benchmark.show_choices()
        benchmark.show_query_choices()
        return
    if dtype not in ("float32", "float64"):
        raise typer.BadParameter(f"{dtype!r} is neither float32 nor float64", param_hint="--dtype")
    if plot is not None:
        benchmark.load("matplotlib", extra="plot")  # before a minute of work, not after it
    if queries or query:
        if plainly_for_pairs := [
            name
            for name, value in {"--scene": scene, "--method": method, "--size twice": (size or [])[1:]}.items()
            if value
        ]:
            raise typer.BadParameter(f"not with queries: {', '.join(plainly_for_pairs)}")
        ask_indexes(query, size, [] if no_peers else peer, budget, slowest, progress, json_file, plot)
        return
    try:
        people = benchmark.contestants(method or ["auto"], [] if no_peers else peer or None, workers=workers)
        scenes = benchmark.known_scenes(scene or ["rects", "uniform"])
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    with benchmark.progress_bar(progress) as advance:
        comparison = benchmark.compare(
            scenes,
            size or [1_000, 10_000, 100_000],
            people,
            budget=budget,
            slowest=slowest,
            one_thread=workers == 1,
            dtype=dtype,
            seed=seed,
            progress=advance,
        )
    text = json.dumps(benchmark.as_json(comparison), indent=1)
    if str(json_file) == "-":
        typer.echo(text)
    else:
        benchmark.show_comparison(comparison)
        if json_file is not None:
            json_file.write_text(text + "\n")
    if plot is not None:
        counts = sorted({outcome.box_count for outcome in comparison.outcomes})
        names = dict.fromkeys(outcome.scene for outcome in comparison.outcomes)
        works = benchmark.measure_work(names, counts, dtype=dtype, seed=seed)
        benchmark.plot_comparison(comparison, plot, works)
    if comparison.wrong:
        raise typer.Exit(1)


def ask_indexes(
    queries: list[str] | None,
    size: list[int] | None,
    peers: list[str] | None,
    budget: float,
    slowest: float,
    progress: bool | None,
    json_file: Path | None,
    plot: Path | None,
) -> None:
    """Do the part of the command that compares indexes."""
    count = size[0] if size else 100_000
    try:
        with benchmark.progress_bar(progress) as advance:
            comparison = benchmark.compare_queries(
                queries or None, count, peers=peers, budget=budget, slowest=slowest, progress=advance
            )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    text = json.dumps(benchmark.queries_as_json(comparison), indent=1)
    if str(json_file) == "-":
        typer.echo(text)
    else:
        benchmark.show_queries(comparison)
        if json_file is not None:
            json_file.write_text(text + "\n")
    if plot is not None:
        benchmark.plot_queries(comparison, plot)
    if comparison.wrong:
        raise typer.Exit(1)
