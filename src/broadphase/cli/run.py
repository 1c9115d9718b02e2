"""The command ``broadphase run``: steps a scene, and says what happened and how long it took."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import broadphase as bp
from broadphase import io, scenes
from broadphase.cli.interrupt import asking_to_stop
from broadphase.cli.options import JsonOption, ProgressOption, SceneMethodOption
from broadphase.cli.screen import duration, print_facts, print_json, progress_bar
from broadphase.recording import Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from broadphase.cli.screen import Step

_SHOW_EVERY = 0.05  # seconds between two looks of the progress bar at a run whose steps may take microseconds


def run(
    scene: Annotated[
        str | None, typer.Argument(metavar="SCENE", help="A .toml or .json file, or a bundled scene (see --list).")
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", "-n", min=0, help="How many; else those of the scene.")
    ] = None,
    dt: Annotated[float | None, typer.Option("--dt", help="Time from step to step; else that of the scene.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Of what is random; else that of the scene.")
    ] = None,
    scale: Annotated[float, typer.Option("--count-scale", min=0.0, help="So many times the actors.")] = 1.0,
    method: SceneMethodOption = None,
    events: Annotated[
        Path | None, typer.Option("--events", "-o", help="Write who begins and ends to touch: .csv or .parquet.")
    ] = None,
    stay: Annotated[bool, typer.Option("--stay", help="Write for every step who goes on touching, too.")] = False,
    replay: Annotated[
        Path | None, typer.Option("--replay", help="Write a page that plays the run in any browser: .html.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option("--record", help="Write a recording for the viewer of Rerun: .rrd.")
    ] = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but errors.")] = False,
    progress: ProgressOption = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the bundled scenes, and stop.")] = False,
) -> None:
    """Run a scene: a world, groups of actors and rules from a small file.

    Shows how many pairs touched, and what a step took. Ctrl-C stops after the step that is being done; what was
    written until then is kept.

    For example:

    - `broadphase run bouncing_rectangles`

    - `broadphase run machine_gun --steps 2000 --events hits.parquet`

    - `broadphase run bouncing_spheres --replay spheres.html`

    - `broadphase run my_scene.toml --dt 0.02 --seed 3 --json`

    - `broadphase run --list`
    """
    if list_all:
        print_facts("Bundled scenes", [(name, scenes.load(name).title) for name in scenes.NAMES])
        return
    if scene is None:
        raise typer.BadParameter("name a file or a bundled scene; --list shows those", param_hint="SCENE")
    if events is not None and events.suffix.lower() not in io.EVENT_FORMATS:
        raise typer.BadParameter(f"{events} does not end in {' or '.join(io.EVENT_FORMATS)}", param_hint="--events")
    for option, path, ending in (("--replay", replay, ".html"), ("--record", record, ".rrd")):
        if path is not None and path.suffix.lower() != ending:
            raise typer.BadParameter(f"{path} does not end in {ending}", param_hint=option)
    if dt is not None and not abs(dt) < float("inf"):
        raise typer.BadParameter("must be finite", param_hint="--dt")
    plan = scenes.load(scene).changed(method=method, dt=dt, steps=steps, seed=seed, factor=scale)
    sums = Sums(plan.start())
    log = scenes.EventLog(sums.run, stay=stay) if events is not None else None
    page = Replay(sums.run.world, plan.title) if replay is not None else None
    recording = sums.run.world.record(record) if record is not None else nullcontext()
    begin = time.perf_counter()
    with progress_bar(False if quiet else progress) as step, asking_to_stop() as is_asked, recording:
        frames = _frames(sums, step, is_asked, page)
        if log is not None and events is not None:
            sums.written = io.write_events(events, (log.columns(frame) for frame in frames))
        else:
            for _ in frames:
                pass
        stopped = is_asked()
    if page is not None and replay is not None:
        page.save(replay)
    answer = sums.describe(time.perf_counter() - begin, events, stopped)
    answer |= {name: str(path) for name, path in (("replay", replay), ("record", record)) if path is not None}
    if as_json:
        print_json(answer)
    elif not quiet:
        _show(answer)


class Sums:
    """What happened in a run so far."""

    def __init__(self, run: scenes.Run) -> None:
        self.run = run
        self.seconds: list[float] = []
        self.touching = self.enters = self.exits = self.most_actors = 0
        self.tests = self.deferred = 0
        self.reason = ""
        self.written: int | None = None

    def add(self, frame: Any) -> None:
        """Count the last step."""
        self.seconds.append(self.run.seconds)
        self.enters += len(frame.enter)
        self.exits += len(frame.exit)
        self.touching += len(frame.touching)
        self.tests += frame.stats["tests"]
        self.deferred += len(frame.deferred)
        self.reason = str(frame.stats["reason"])
        self.most_actors = max(self.most_actors, len(self.run.world))

    def describe(self, seconds: float, events: Path | None, stopped: bool) -> dict[str, Any]:
        """Gather what is shown, as values that JSON knows."""
        scene, world = self.run.scene, self.run.world
        times: NDArray[np.float64] = np.array(self.seconds or [np.nan]) * 1e3
        return {
            "scene": scene.name,
            "title": scene.title,
            "dimension": scene.dim,
            "steps": self.run.steps,
            "stopped": stopped,
            "actors": len(world),
            "most_actors": self.most_actors,
            "added": self.run.added,
            "removed": self.run.removed,
            "step_ms": {"median": float(np.median(times)), "p99": float(np.percentile(times, 99))},
            "touching_per_step": self.touching / max(1, self.run.steps),
            "tests_per_step": self.tests / max(1, self.run.steps),
            "deferred_per_step": self.deferred / max(1, self.run.steps),
            "enters": self.enters,
            "exits": self.exits,
            "method": scene.method,
            "reason": self.reason,
            "quickest": bp.explain(world.boxes[world.rows]).method if scene.method == "auto" else scene.method,
            "seconds": seconds,
            "events": None if events is None else {"file": str(events), "count": self.written},
        }


def _frames(sums: Sums, show: Step, is_asked: Callable[[], bool], page: Replay | None) -> Iterator[Any]:
    steps, shown = sums.run.scene.steps, 0.0
    for number in range(steps):
        if is_asked():
            return
        frame = sums.run.step()
        sums.add(frame)
        if page is not None:
            page.add(frame)
        yield frame
        if (now := time.perf_counter()) - shown > _SHOW_EVERY:
            show("running", number + 1, steps)
            shown = now


def _show(answer: dict[str, Any]) -> None:
    step = answer["step_ms"]
    facts = [
        ("scene", answer["title"]),
        ("steps", f"{answer['steps']:,}{' (stopped)' if answer['stopped'] else ''}"),
        ("things", f"{answer['actors']:,}{_most(answer)} ({answer['dim']} axes)"),
        ("ms per step", f"{step['median']:.3f} (median), {step['p99']:.3f} (99th percentile)"),
        ("pairs per step", f"{answer['touching_per_step']:,.1f} touch, {answer['tests_per_step']:,.1f} tested"),
        ("enters, exits", f"{answer['enters']:,}, {answer['exits']:,}"),
        ("method", _method(answer)),
        ("time", duration(answer["seconds"])),
    ]
    if answer["deferred_per_step"]:
        facts.insert(5, ("over budget", f"{answer['deferred_per_step']:,.1f} pairs a step, left for the next"))
    if answer["added"] or answer["removed"]:
        facts.insert(3, ("by the rules", f"{answer['made']:,} made, {answer['removed']:,} removed"))
    if answer["events"] is not None:
        facts.append(("written", f"{answer['events']['count']:,} events to {answer['events']['file']}"))
    for name, what in (("replay", "a page that plays it"), ("record", "a recording")):
        if name in answer:
            facts.append(("written", f"{what} to {answer[name]}"))
    print_facts("Run", facts)


def _most(answer: dict[str, Any]) -> str:
    return f", {answer['most_actors']:,} at most" if answer["most_actors"] != answer["actors"] else ""


def _method(answer: dict[str, Any]) -> str:
    if answer["method"] != "auto" or not answer["reason"]:
        return str(answer["method"])
    return f"auto (in the last step {answer['reason']}; for all pairs, {answer['quickest']} is the quickest)"
