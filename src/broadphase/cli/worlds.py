"""The commands on worlds: ``broadphase run`` and ``broadphase demo``."""

from __future__ import annotations

import os
import time
import webbrowser
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import broadphase as bp
from broadphase import io, scenes
from broadphase.cli.options import (
    JsonOption,
    ProgressOption,
    SceneMethodOption,
    SettingsOption,
    completed,
    naming_option,
)
from broadphase.cli.screen import duration, print_facts, print_json, progress_bar, stop_requested
from broadphase.errors import unknown_name
from broadphase.files import refuse_inputs, require_ending
from broadphase.recording import Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from broadphase.cli.screen import Step


_UPDATE_INTERVAL = 0.05  # seconds between two updates of the progress bar; steps may take microseconds


def run(
    scene: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENE",
            autocompletion=lambda incomplete: completed(incomplete, scenes.NAMES),
            help="A .toml or .json file, or a bundled scene (see --list).",
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", "-n", min=0, help="Number of steps. Default: that of the scene.")
    ] = None,
    dt: Annotated[float | None, typer.Option("--dt", help="Time step. Default: that of the scene.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Seed of random numbers. Default: that of the scene.")
    ] = None,
    scale: Annotated[
        float, typer.Option("--count-scale", min=0.0, max=1e9, help="Factor of the number of bodies.")
    ] = 1.0,
    method: SceneMethodOption = None,
    settings: SettingsOption = None,
    events: Annotated[
        Path | None, typer.Option("--events", "-o", help="Write enter and exit events: .csv or .parquet.")
    ] = None,
    stay: Annotated[bool, typer.Option("--stay", help="Also write stay events, for every step.")] = False,
    replay: Annotated[
        Path | None, typer.Option("--replay", help="Write a page that replays the run in a browser: .html.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option("--record", help="Write a recording for the Rerun viewer: .rrd.")
    ] = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    progress: ProgressOption = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the bundled scenes and exit.")] = False,
) -> None:
    """Run a scene: a world, groups of bodies and rules from a small file.

    Prints the number of pairs and the time of a step. Ctrl-C stops after the current step; what was written is kept.

    For example:

    - `broadphase run bouncing_rectangles`

    - `broadphase run machine_gun --steps 2000 --events hits.parquet`

    - `broadphase run bouncing_spheres --replay spheres.html`

    - `broadphase run my_scene.toml --dt 0.02 --seed 3 --json`

    - `broadphase run crowd --method octree --set leaf_capacity=1 --set looseness=1`

    - `broadphase run --list`
    """
    if list_all:
        print_facts("Bundled scenes", [(name, scenes.load(name).title) for name in scenes.NAMES])
        return
    if scene is None:
        raise typer.BadParameter(
            "a file or a bundled scene is required; --list shows the bundled ones", param_hint="SCENE"
        )
    written: set[str] = set()
    endings = {"--events": io.EVENT_FORMATS, "--replay": (".html",), "--record": (".rrd",)}
    for (option, known), path in zip(endings.items(), (events, replay, record), strict=True):
        if path is None:
            continue
        with naming_option(option):
            require_ending(path, known)
        refuse_inputs(path, [scene])
        if os.path.realpath(path) in written:  # of different endings, but by links
            raise typer.BadParameter(f"{path}: another option names the same file")
        written.add(os.path.realpath(path))
    if dt is not None and not abs(dt) < float("inf"):
        raise typer.BadParameter("must be finite", param_hint="--dt")
    plan = scenes.load(scene)
    wanted = _with_settings(plan.method if method is None else method, settings, plan.dim)
    plan = plan.changed(method=wanted, dt=dt, steps=steps, seed=seed, factor=scale)
    totals = Totals(plan.start())
    log = scenes.EventLog(totals.run, stay=stay) if events is not None else None
    page = Replay(totals.run.world, plan.title) if replay is not None else None
    recording = bp.recording.record(totals.run.world, record) if record is not None else nullcontext()
    begin = time.perf_counter()
    with progress_bar(False if quiet else progress) as step, stop_requested() as is_requested, recording:
        frames = _frames(totals, step, is_requested, page)
        if log is not None and events is not None:
            totals.written = io.write_events(events, (log.columns(frame) for frame in frames))
        else:
            for _ in frames:
                pass
        stopped = is_requested()
    if page is not None and replay is not None:
        page.save(replay)
    answer = totals.describe(time.perf_counter() - begin, events, stopped)
    answer |= {name: str(path) for name, path in (("replay", replay), ("record", record)) if path is not None}
    if as_json:
        print_json(answer)
    elif not quiet:
        _show(answer)


def _with_settings(
    method: str | bp.index.IndexOptions, settings: list[str] | None, dim: int | None = None
) -> str | bp.index.IndexOptions:
    if not settings:
        return method
    with naming_option("--set"):
        wanted = bp.index.IndexOptions.of(method).with_texts(settings)
        if dim is not None:
            wanted.require_fit(dim)
    return wanted


class Totals:
    """Totals of a run."""

    def __init__(self, run: scenes.Run) -> None:
        self.run = run
        self.seconds: list[float] = []
        self.touching = self.enters = self.exits = self.most_bodies = 0
        self.tests = self.deferred = 0
        self.reason = ""
        self.written: int | None = None

    def add(self, frame: Any) -> None:
        """Add the last step."""
        self.seconds.append(self.run.seconds)
        self.enters += len(frame.enter)
        self.exits += len(frame.exit)
        self.touching += len(frame.pairs)
        self.tests += frame.stats["tests"]
        self.deferred += len(frame.deferred)
        self.reason = str(frame.stats["reason"])
        self.most_bodies = max(self.most_bodies, len(self.run.world))

    def describe(self, seconds: float, events: Path | None, stopped: bool) -> dict[str, Any]:
        """Return the summary as values for JSON."""
        scene, world = self.run.scene, self.run.world
        used = world.stats()["method"]
        times: NDArray[np.float64] = np.array(self.seconds or [np.nan]) * 1e3
        return {
            "scene": scene.name,
            "title": scene.title,
            "dim": scene.dim,
            "steps": self.run.steps,
            "stopped": stopped,
            "bodies": len(world),
            "most_bodies": self.most_bodies,
            "added": self.run.added,
            "removed": self.run.removed,
            "step_ms": {"median": float(np.median(times)), "p99": float(np.percentile(times, 99))},
            "touching_per_step": self.touching / max(1, self.run.steps),
            "tests_per_step": self.tests / max(1, self.run.steps),
            "deferred_per_step": self.deferred / max(1, self.run.steps),
            "enters": self.enters,
            "exits": self.exits,
            "method": str(scene.method),
            "reason": self.reason,
            "quickest": bp.explain(world.boxes[world.rows]).method if used == "auto" else used,
            "seconds": seconds,
            "events": None if events is None else {"file": str(events), "count": self.written},
        }


def _frames(totals: Totals, show: Step, is_requested: Callable[[], bool], page: Replay | None) -> Iterator[Any]:
    steps, shown = totals.run.scene.steps, 0.0
    for number in range(steps):
        if is_requested():
            return
        try:
            frame = totals.run.step()
        except ValueError as error:  # coordinates left the range of float64
            raise bp.errors.FileFormatError(f"{totals.run.scene.name}, step {number}: {error}") from error
        totals.add(frame)
        if page is not None:
            page.add(frame)
        yield frame
        if (now := time.perf_counter()) - shown > _UPDATE_INTERVAL:
            show("running", number + 1, steps)
            shown = now


def _show(answer: dict[str, Any]) -> None:
    step = answer["step_ms"]
    most = f", {answer['most_bodies']:,} at most" if answer["most_bodies"] != answer["bodies"] else ""
    facts = [
        ("scene", answer["title"]),
        ("steps", f"{answer['steps']:,}{' (stopped)' if answer['stopped'] else ''}"),
        ("bodies", f"{answer['bodies']:,}{most} ({answer['dim']} axes)"),
        ("ms per step", f"{step['median']:.3f} (median), {step['p99']:.3f} (99th percentile)"),
        ("pairs per step", f"{answer['touching_per_step']:,.1f} in contact, {answer['tests_per_step']:,.1f} tested"),
        ("enters, exits", f"{answer['enters']:,}, {answer['exits']:,}"),
        ("method", _method(answer)),
        ("time", duration(answer["seconds"])),
    ]
    if answer["deferred_per_step"]:
        facts.insert(5, ("over budget", f"{answer['deferred_per_step']:,.1f} pairs per step deferred"))
    if answer["added"] or answer["removed"]:
        facts.insert(3, ("by rules", f"{answer['added']:,} added, {answer['removed']:,} removed"))
    if answer["events"] is not None:
        facts.append(("written", f"{answer['events']['count']:,} events to {answer['events']['file']}"))
    for name, what in (("replay", "a replay page"), ("record", "a recording")):
        if name in answer:
            facts.append(("written", f"{what} to {answer[name]}"))
    print_facts("Run", facts)


def _method(answer: dict[str, Any]) -> str:
    if answer["method"] != "auto" or not answer["reason"]:
        return str(answer["method"])
    return f"auto (in the last step: {answer['reason']}; for all pairs: {answer['quickest']})"


_POLL = 0.2  # seconds between two checks for Ctrl-C


def demo(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help="A scene of --list, or a scene file.")] = "clusters",
    method: SceneMethodOption = None,
    settings: SettingsOption = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="Number of bodies.")] = None,
    mesh: Annotated[Path | None, typer.Option("--mesh", help="Show the triangles of a mesh file.")] = None,
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65535, help="0: any free port.")] = 0,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; 0.0.0.0 allows other machines, with a token.")
    ] = "127.0.0.1",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, open no browser.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List the scenes and exit.")] = False,
) -> None:
    """Show a live page in the browser: a moving world, and what each step costs. Needs the extra demo.

    Scenes, methods and queries are chosen on the page. The address that is printed opens this scene with this method,
    count and settings, until Ctrl-C stops the demo.

    For example:

    - `broadphase demo`

    - `broadphase demo clusters --method octree --count 10000`

    - `broadphase demo spheres --method linear_tree --set tuning=origin`

    - `broadphase demo --mesh bunny.stl`

    - `broadphase demo my_scene.toml --port 8080 --no-browser`
    """
    from broadphase.demo import start_demo
    from broadphase.demo.mesh_files import read_mesh_file
    from broadphase.demo.scenes import SCENES, scene_named

    if list_all:
        print_facts("Scenes", [(one.name, f"{one.title}. {one.text}") for one in SCENES])
        return
    names = [one.name for one in SCENES]
    if mesh is None and scene not in names and Path(scene).suffix.lower() not in (".toml", ".json"):
        raise typer.BadParameter(
            f"{unknown_name('scene', scene, names)}, or the name of a .toml or .json file", param_hint="SCENE"
        )
    triangles = None if mesh is None else read_mesh_file(mesh.name, mesh.read_bytes())
    name = scene if triangles is None else "mesh"
    with stop_requested() as is_requested:
        chosen = _with_settings(method or scene_named(name).method, settings)
        page = start_demo(name, method=chosen, count=count, host=host, port=port, mesh=triangles)
        try:
            typer.echo(f"The demo is at {page.link} . Press Ctrl-C to stop.")
            if not no_browser:
                webbrowser.open(page.link)
            while not is_requested() and not page.wait(_POLL):
                pass
        finally:
            page.stop()
    typer.echo("Stopped.")
