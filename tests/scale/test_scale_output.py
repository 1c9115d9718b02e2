"""The folder of the results: one run at a time writes to it, and damaged records of it are named."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadphase as bp
from box_files import SCENES, expected_pairs, pairs_in, scattered, write_files
from broadphase import scale
from broadphase.scale import local, locks
from broadphase.scale.output import Output

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

RUN = """
import sys
from broadphase import scale
def told(*now):
    print(*now, flush=True)
    if now[0] == sys.argv[3]:
        sys.stdin.readline()
scale.pairs(sys.argv[1], output=sys.argv[2], workers=1, progress=told)
print("done", flush=True)
"""


def begun(files: str, output: Path, stage: str) -> subprocess.Popen[str]:
    """A process in the middle of a run: it waits at a stage until it is written to."""
    command = [sys.executable, "-c", RUN, files, str(output), stage]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(stage):
            break
    return process


@pytest.mark.parametrize("stage", ["plan", "assign", "join"])
@pytest.mark.parametrize("resume", [True, False])
def test_second_process_is_refused_and_deletes_nothing(stage: str, resume: bool, tmp_path: Path) -> None:
    boxes, output = scattered(500), tmp_path / "pairs"
    files = write_files(tmp_path / "boxes", boxes)
    with begun(files, output, stage) as process:
        before = sorted(path.name for path in output.iterdir())
        with pytest.raises(FileExistsError, match=r"pairs: another run is writing to it"):
            scale.pairs(files, output=output, resume=resume)
        assert sorted(path.name for path in output.iterdir()) == before
        process.communicate("\n" * 1000, timeout=60)
    assert process.returncode == 0
    assert pairs_in(output) == expected_pairs(boxes)
    assert not (output / "_lock").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL does not exist on Windows")
@pytest.mark.parametrize("stage", ["plan", "assign", "join"])
def test_lock_of_a_killed_process_is_void(stage: str, tmp_path: Path) -> None:
    boxes, output = scattered(500), tmp_path / "pairs"
    files = write_files(tmp_path / "boxes", boxes)
    with begun(files, output, stage) as process:
        process.kill()
    assert (output / "_lock").exists()
    scale.pairs(files, output=output)
    assert pairs_in(output) == expected_pairs(boxes)
    assert not (output / "_lock").exists()


def test_folder_of_a_process_that_was_killed_before_its_first_file_is_used(tmp_path: Path) -> None:
    boxes, output = scattered(100), tmp_path / "pairs"
    files = write_files(tmp_path / "boxes", boxes)
    output.mkdir()
    (output / "_lock").touch()
    (output / "._manifest.json.7-8.part").write_text("{")
    scale.pairs(files, output=output)
    assert pairs_in(output) == expected_pairs(boxes)


def test_second_thread_is_refused(tmp_path: Path) -> None:
    boxes, output = scattered(500), tmp_path / "pairs"
    files = write_files(tmp_path / "boxes", boxes)
    refusals: list[str] = []

    def second(path: Path) -> None:
        try:
            scale.pairs(files, output=path)
        except FileExistsError as error:
            refusals.append(str(error))

    def told(stage: str, done: int, total: int) -> None:
        if stage == "join" and not refusals:
            for path in (output, tmp_path / "link"):
                thread = threading.Thread(target=second, args=[path])
                thread.start()
                thread.join()

    if sys.platform != "win32":
        (tmp_path / "link").symlink_to(output)
    scale.pairs(files, output=output, progress=told)
    assert len(refusals) >= 2 - (sys.platform == "win32")
    assert all("another run is writing to it" in one for one in refusals)
    assert pairs_in(output) == expected_pairs(boxes)


def test_run_that_fails_leaves_no_lock(tmp_path: Path) -> None:
    boxes = scattered(100)
    boxes[7, 0, 0] = np.nan
    files = write_files(tmp_path / "boxes", boxes)
    for _ in range(2):
        with pytest.raises(bp.errors.InvalidBoxError):
            scale.pairs(files, output=tmp_path / "pairs")
        assert not (tmp_path / "pairs").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_child_by_fork_does_not_keep_the_lock(tmp_path: Path) -> None:
    boxes, output = scattered(100), tmp_path / "pairs"
    files = write_files(tmp_path / "boxes", boxes)
    place = Output(output, {"input": [], "options": {}}, resume=True)
    end, begin = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(begin)
        os.read(end, 1)  # to the end of the parent's part
        os._exit(0)
    try:
        place.stop()
        scale.pairs(files, output=output, resume=False)
    finally:
        os.write(begin, b"x")
        os.waitpid(child, 0)
    assert pairs_in(output) == expected_pairs(boxes)


def test_folder_without_locks_is_used_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(descriptor: int) -> None:
        raise OSError(locks.errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks, "_take", none)
    boxes = scattered(100)
    with pytest.warns(UserWarning, match="pairs: its file system has no locks"):
        scale.pairs(write_files(tmp_path / "boxes", boxes), output=tmp_path / "pairs")
    assert pairs_in(tmp_path / "pairs") == expected_pairs(boxes)


def test_relative_outputs_of_one_name_have_a_scratch_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        place = Output("pairs", {"input": [], "options": {}}, resume=True, scratch=tmp_path / "scratch")
        homes.append(place.scratch)
        place.stop()
    assert homes[0] != homes[1]


# Records

RECORDS = ("_manifest.json", "_plan.json", "_report.json", "_finished.jsonl")
GARBAGE = ["", "{", "[1]", "1", "null", '"text"', "{}", '{"a":1}\n', "\x00" * 50, "[" * 100_000, "{" * 100_000 + "\n"]


def replaced(value: Any, choose: random.Random) -> Any:
    """Put something else in a random place of nested values."""
    if isinstance(value, dict) and value and choose.random() < 0.8:
        name = choose.choice(list(value))
        if choose.random() < 0.2:
            return {other: one for other, one in value.items() if other != name}
        return {**value, name: replaced(value[name], choose)}
    if isinstance(value, list) and value and choose.random() < 0.8:
        place = choose.randrange(len(value))
        return [*value[:place], replaced(value[place], choose), *value[place + 1 :]]
    return choose.choice([None, -1, 1.5, "x", "../../mine", [], [1], {}, {"a": 1}, True, 10**30, 1e400])


def mutations(text: str, choose: random.Random) -> list[str]:
    found = [text[: choose.randrange(len(text))] for _ in range(3)]
    for _ in range(3):
        place = choose.randrange(len(text))
        found.append(text[:place] + choose.choice('0"{}[],:x\n') + text[place + 1 :])
    for _ in range(12):
        lines = [json.loads(line) for line in text.splitlines()]
        place = choose.randrange(len(lines))
        lines[place] = replaced(lines[place], choose)
        found.append("\n".join(map(json.dumps, lines)) + "\n" * (len(lines) > 1))
    return found


def run(files: str, output: Path) -> tuple[str, scale.Report | None]:
    """The report, or the message with which the run is refused."""
    try:
        return "", scale.pairs(files, output=output, workers=1)
    except (FileExistsError, bp.errors.FileFormatError) as error:
        return str(error), None


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def sizes(*arguments: Any) -> local.Sizes:
        return local.Sizes(piece_rows=500, tile_rows=200, chunk_pairs=100, in_memory=False)

    monkeypatch.setattr(local.Sizes, "of", sizes)


@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize("name", RECORDS)
def test_damaged_record_is_named_or_the_pairs_are_right(
    name: str, is_complete: bool, tmp_path: Path, little_memory: None
) -> None:
    boxes, output, mine = scattered(600), tmp_path / "pairs", tmp_path / "mine"
    files, expected = write_files(tmp_path / "boxes", boxes), expected_pairs(boxes)
    mine.write_text("years of work")
    scale.pairs(files, output=output, workers=1)
    if not is_complete:
        (output / "_report.json").unlink()
        sorted(output.glob("*.parquet"))[0].unlink()
    whole = {path.name: path.read_bytes() for path in output.iterdir()}
    if name not in whole:
        return
    choose = random.Random(7)
    texts = [*GARBAGE, *mutations(whole[name].decode(), choose)]
    refused = 0
    for text in [*(one.encode() for one in texts), b"\xff\xfe\x80", os.urandom(200)]:
        for path in output.iterdir():
            path.unlink()
        for one, data in whole.items():
            (output / one).write_bytes(data)
        (output / name).write_bytes(text)
        before = sorted(path.name for path in output.iterdir())
        message, report = run(files, output)
        if report is None:
            refused += 1
            assert str(output) in message, text
            assert name in message or "results of other" in message, text
            assert sorted(path.name for path in output.iterdir()) == before
            if "output must be" in message:
                continue
            report = scale.pairs(files, output=output, workers=1, resume=False)
        assert pairs_in(output) == expected, text
        if name != "_report.json":
            assert report.pair_count == len(expected) or name == "_finished.jsonl", text
    assert refused > 5
    assert mine.read_text() == "years of work"


def test_damaged_boxes_by_tile_are_read_again_or_named(tmp_path: Path, little_memory: None) -> None:
    boxes, output = SCENES["giants"], tmp_path / "pairs"
    files, expected = write_files(tmp_path / "boxes", boxes), expected_pairs(boxes)

    def interrupt(now: str, done: int, total: int) -> None:
        if now == "join":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scale.pairs(files, output=output, workers=1, progress=interrupt)
    whole = {path.relative_to(output): path.read_bytes() for path in output.rglob("*") if path.is_file()}
    scratch = [path for path in whole if path.parts[0] == "_scratch"]
    kinds = {path.suffix: path for path in scratch}
    assert set(kinds) == {".arrow", ".npz", ".json"}
    rng = np.random.default_rng(3)
    for path in kinds.values():
        data = np.frombuffer(whole[path], np.uint8)
        for attempt in range(6):
            shutil.rmtree(output)
            for one, content in whole.items():
                (output / one).parent.mkdir(parents=True, exist_ok=True)
                (output / one).write_bytes(content)
            damaged = data.copy()
            if attempt < 3:
                damaged = damaged[: rng.integers(len(data))]
            else:  # the head of a batch: its numbers cannot be told from others
                damaged[rng.integers(min(len(data), 200), size=20)] ^= 0x5A
            (output / path).write_bytes(damaged.tobytes())
            message, report = run(files, output)
            if report is None:
                assert str(output / path) in message
                assert path.suffix == ".arrow"
                continue
            assert pairs_in(output) == expected
