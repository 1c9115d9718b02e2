"""The program ``python -m benchmarks.gpu``, on Warp's CPU device, and the parts in which Warp travels."""

import hashlib
import json
import os
import random
import subprocess
import sys
import types
import zipfile
from pathlib import Path

import numpy as np
import pytest
from benchmarks.gpu import carry
from benchmarks.gpu.__main__ import as_markdown, as_text, main
from benchmarks.gpu.parts import PARTS, Record, Setting, Skip, Task, run_apart, run_here

wp = pytest.importorskip("warp", reason="NVIDIA Warp is not installed: pip install 'broadphase[gpu]'")

from benchmarks.gpu import compiling, devices, exactness, kernels, scenes, stages, times  # noqa: E402

from broadphase import gpu  # noqa: E402
from broadphase.gpu import loading  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CPU = Setting("cpu", quick=True)


def run_program(*arguments, timeout=600):
    """Run the program in the folder of the repository, with what this process imports."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    command = [sys.executable, "-m", "benchmarks.gpu", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, env=environment, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Give what one quick run of everything has printed and written."""
    folder = tmp_path_factory.mktemp("gpu")
    status, printed, errors = run_program(
        "--device", "cpu", "--quick", "--minutes", "40", "--output", str(folder), timeout=2400
    )
    assert status == 0, printed + errors
    return printed, json.loads((folder / "gpu.json").read_text()), (folder / "gpu.md").read_text()


def test_gpu_benchmark_runs_all_of_it_on_the_cpu(whole):
    printed, found, page = whole
    assert [part["part"] for part in found["parts"]] == list(PARTS)
    assert not any(part["has_failed"] or part["ended"] or part["not_run"] for part in found["parts"])
    assert found["device"] == "cpu"
    assert found["facts"]["warp-lang"] == wp.config.version
    assert "results compared, 0 tasks of " in printed
    assert "MISSED" not in printed  # nothing is judged by times of a CPU
    assert page.startswith("# On a device\n\n- device: ")
    assert "## Not run" not in page


def test_gpu_benchmark_compares_everything(whole):
    _, found, _ = whole
    records = {record["task"]: record for part in found["parts"] for record in part["records"]}
    compared = {name: record["compared"] for name, record in records.items() if record["compared"]}
    for beginning, least in (("pairs: ", 2200), ("index: ", 2500), ("neighbors: ", 1000), ("arrays of ", 150)):
        assert sum(count for name, count in compared.items() if name.startswith(beginning)) > least, beginning
    skipped = {name: record["skipped"] for name, record in records.items() if record["skipped"]}
    for name in ("kernels", "stream of torch", "graph of warp: pairs", "graph of torch: index", "no memory"):
        assert skipped[name] == "only on a CUDA device"
    assert not any(record["compared"] or record["rows"] for name, record in records.items() if name in skipped)


def test_gpu_benchmark_has_a_line_for_each_work_and_contestant(whole):
    printed, found, page = whole
    rows = found["tables"][times.WORK]
    by = {row["by"]: row for row in rows if row["work"] == "3,000 boxes, uniform"}
    assert by["broadphase"]["result"].startswith("exact: ")
    assert by["broadphase"]["× the first"] == 1
    assert by["warp.Bvh lbvh"]["result"] == by["broadphase"]["result"]
    assert by["broadphase, padded, in a graph"]["result"] == "skipped: only on a CUDA device"
    assert by["broadphase, padded, in a graph"]["ms"] is None
    assert len({row["work"] for row in rows}) == 11
    assert all(row["boxes"] and row["ms, with copies"] > 0 for row in found["tables"][times.CROSSOVER])
    assert [row["scene"] for row in found["tables"]["Every scene, beside uniform"]] == list(scenes.on_device())
    uniform = next(row for row in found["tables"]["Every scene, beside uniform"] if row["scene"] == "uniform")
    assert uniform["× uniform nodes a box and pair"] == 1
    assert 1 < uniform["nodes a walk"] < uniform["most"]
    walk = next(row for row in found["tables"][stages.TABLE] if row["stage"] == "walk")
    assert 0 < walk["of the bandwidth"] < 1
    told = {row["stage"] for row in found["tables"][stages.TABLE]}
    assert {"frame", "codes", "sort", "levels", "nodes", "walk", "sort of pairs", "write", "all"} <= told
    for title in (times.WORK, times.CROSSOVER, stages.TABLE):
        assert f"\n{title}\n" in printed
        assert f"\n## {title}\n" in page


def test_gpu_benchmark_judges_results():
    right = times.keys_of([[0, 1], [1, 2], [2, 3]])
    assert times.judge_pairs([[2, 3], [1, 0], [2, 1]], right) == "exact"
    assert times.judge_pairs([[2, 3], [1, 0], [0, 1], [7, 8]], right) == "1 missing, 1 extra, 1 twice"
    assert times.judge_equal([1, 2, 3], [1, 2, 3]) == "exact"
    assert times.judge_equal([1, 2, 3], [1, 3, 2]) == "2 of 3 differ"
    assert times.judge_equal([1, 2], [1, 2, 3]) == "2 where 3 are right"
    assert (times.judge_count(10, 10), times.judge_count(9, 10)) == ("exact", "-1 of 10 pairs")


def test_gpu_benchmark_counts_the_bytes_of_stages():
    assert stages.least_bytes("codes", 10, 0, 12, 64) == 10 * (24 + 16)
    assert stages.least_bytes("sort", 10, 0, 12, 57) == 10 * 8 + 8 * 2 * 10 * 12
    assert stages.least_bytes("walk", 10, 3, 12, 64) == 10 * 64 + 24
    assert stages.least_bytes("walk", 10, 3, 24, 64) == 10 * 128 + 24
    assert stages.least_bytes("frame", 10, 3, 12, 64) is None


# What a run tells when something is wrong -----------------------------------------------------------------------------


def test_gpu_benchmark_finds_a_pair_that_is_missing(monkeypatch):
    true_pairs = exactness.gpu.pairs
    record = Record("pairs")
    boxes = np.zeros((20, 2, 2), np.float32)
    exactness.check_pairs(record, CPU, "right", boxes)
    assert record.failure_count == 0
    monkeypatch.setattr(exactness.gpu, "pairs", lambda *boxes, **options: true_pairs(*boxes, **options)[:-1])
    exactness.check_pairs(record, CPU, "wrong", boxes)
    assert record.compared == 6
    assert record.failure_count == 2
    assert record.failures[0] == "wrong, sorted: shape (189, 2), and (190, 2) is right"
    assert "1 missing: (18, 19)" in record.failures[1]


def test_gpu_benchmark_tells_what_differs():
    record = Record("numbers")
    record.equal([1.0, np.nan, 3.0], [1.0, np.nan, 3.0], "same")
    assert record.failure_count == 0
    record.equal([1, 2, 3], [1, 5, 4], "not the same")
    assert record.failures == ["not the same: 2 of 3 differ, the first at 1: 2, and 5 is right"]
    for k in range(9):
        with record.case(f"case {k}"):
            raise ValueError("no\nmore")
    assert record.failure_count == 10
    assert record.failures[1:] == [f"case {k}: ValueError: no" for k in range(4)]


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_gpu_benchmark_goes_on_after_a_task_that_breaks(monkeypatch, tmp_path):
    def breaks(record):
        raise RuntimeError("CUDA error 700")

    def skips(record):
        raise Skip("not here")

    names = {"breaks": breaks, "skips": skips, "counts": lambda record: record.equal(1, 1, "one")}
    module = types.SimpleNamespace(tasks=lambda setting: [Task(name, run) for name, run in names.items()])
    monkeypatch.setitem(sys.modules, "benchmarks.gpu.made_up", module)
    run_here("made_up", CPU, 10, tmp_path / "all")
    plan, *lines = lines_of(tmp_path / "all")
    assert plan == {"plan": list(names)}
    broken, skipped, counted = (line["record"] for line in lines if "record" in line)
    assert broken["failures"][0].startswith("the task: RuntimeError: CUDA error 700 (File ")
    assert skipped["skipped"] == "not here"
    assert (counted["compared"], counted["failure_count"]) == (1, 0)
    run_here("made_up", CPU, -1, tmp_path / "none")
    assert lines_of(tmp_path / "none") == [plan]
    run_here("made_up", CPU, 10, tmp_path / "one", only=["count", "other"])
    assert lines_of(tmp_path / "one")[0] == {"plan": ["counts"]}


def test_gpu_benchmark_ends_a_part_that_takes_too_long(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, sys.path)]))
    monkeypatch.chdir(ROOT)
    report = run_apart("exactness", CPU, 0.3)
    assert report.ended.startswith("ended after 0 s")
    assert report.has_failed
    assert report.seconds < 20


def test_gpu_benchmark_tells_what_it_had_no_time_for(tmp_path):
    arguments = ["--device", "cpu", "--quick", "--part", "stages", "--minutes", "0", "--output", str(tmp_path)]
    status, printed, _ = run_program(*arguments)
    assert status == 1
    assert "stages: ended after 0 s" in printed
    assert "- stages: ended after 0 s" in (tmp_path / "gpu.md").read_text()


def test_gpu_benchmark_of_a_device_that_is_not_there_fails(capfd, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, sys.path)]))
    monkeypatch.chdir(ROOT)
    assert main(["--device", "cuda:77", "--quick", "--part", "compiling"]) == 1
    assert "FAILED: the device: the task: ValueError: there is no device cuda:77; Warp sees: " in capfd.readouterr().out


def test_gpu_benchmark_names_the_compiler_that_was_left_out(monkeypatch):
    monkeypatch.setattr(wp, "is_cpu_available", lambda: False)
    with pytest.raises(ValueError, match="warp-clang is not there"):
        devices.require("cpu")


def test_gpu_benchmark_compiles_all_modules_that_are_loaded():
    boxes = np.zeros((8, 2, 3))
    for kind in (np.float32, np.float64):
        gpu.pairs(boxes.astype(kind), device="cpu", sort=True)
        gpu.Index(boxes.astype(kind), device="cpu").query(boxes)
        cells = np.ones((4, 2))
        gpu.neighbors(boxes.reshape(4, 4, 3)[:, :, :2].astype(kind), 0.1, cell=cells[:, None] * np.eye(2), device="cpu")
    loaded = {name for name, device in loading._loaded if device == "cpu"}
    assert len(loaded) >= 11
    modules = {module.name: module for module in compiling.modules()}
    assert loaded <= set(modules)


def test_gpu_benchmark_kernels_compile_for_cuda(tmp_path):
    made = wp.compile_aot_module(wp.get_module(kernels.__name__), arch=80, module_dir=tmp_path, use_ptx=True)
    assert all(path.stat().st_size > 1000 for path in made)


def test_gpu_tables_leave_out_what_a_row_does_not_have():
    rows = [{"by": "one", "ms": 1.5, "× the first": 2.0}, {"by": "two", "ms": None, "note": "why"}]
    assert as_text("Title", rows).splitlines()[2:] == [
        "by        ms  × the first  note",
        "---  -------  -----------  ----",
        "one  1.50 ms          2.0",
        "two        -                why",
    ]
    assert as_markdown("Title", rows).splitlines()[-1] == "| two | - |  | why |"


# The parts in which Warp travels --------------------------------------------------------------------------------------


@pytest.fixture
def wheel(tmp_path):
    """Make a wheel like Warp's: a library that can hardly be compressed, and what is left out."""
    path = tmp_path / "warp_lang-9.9.9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as target:
        target.writestr("warp/__init__.py", "name = 'warp'\n")
        target.writestr("warp/bin/warp.so", random.Random(0).randbytes(50_000))
        target.writestr("warp/native/builtin.h", "#pragma once\n" * 1000)
        for name in ("bin/warp-clang.so", "tests/test_it.py", "examples/core/it.py", "_src/fem/it.py", "__init__.pyi"):
            target.writestr(f"warp/{name}", "left out\n")
        target.writestr("warp_lang-9.9.9.dist-info/METADATA", "Name: warp-lang\n")
    return path


@pytest.fixture
def parts(wheel, tmp_path, monkeypatch):
    monkeypatch.setattr(carry, "_BLOCK", 20_000)  # more than one
    folder = tmp_path / "parts"
    assert carry.main(["pack", str(folder), "--wheel", str(wheel), "--part-size", "20kB"]) == 0
    return folder


def test_warp_travels_in_parts_and_is_the_same_there(parts, wheel, tmp_path, capsys):
    names = sorted(path.name for path in parts.iterdir())
    assert names == ["SHA256SUMS", *(f"warp_lang-9.9.9.part-{k}-of-3" for k in (1, 2, 3))]
    assert all(path.stat().st_size <= 20_000 for path in parts.glob("*.part-*"))
    for line in (parts / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((parts / name).read_bytes()).hexdigest() == digest
    site = tmp_path / "site"
    assert carry.main(["unpack", str(parts), str(site)]) == 0
    unpacked = {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}
    assert unpacked == {
        "warp/__init__.py",
        "warp/bin/warp.so",
        "warp/native/builtin.h",
        "warp_lang-9.9.9.dist-info/METADATA",
        carry.UNPACKED,
    }
    with zipfile.ZipFile(wheel) as source:
        for name in unpacked - {carry.UNPACKED}:
            assert (site / name).read_bytes() == source.read(name)
    capsys.readouterr()
    assert carry.main(["unpack", str(parts), str(site)]) == 0
    assert "already" in capsys.readouterr().out


def test_warp_in_parts_tells_what_is_missing_and_what_is_damaged(parts, tmp_path, capsys):
    arrived, site = tmp_path / "arrived", tmp_path / "site"
    assert carry.main(["unpack", str(arrived), str(site)]) == 1
    assert "SHA256SUMS is missing" in capsys.readouterr().err
    arrived.mkdir()
    for name in ("SHA256SUMS", "warp_lang-9.9.9.part-3-of-3"):
        (arrived / name).write_bytes((parts / name).read_bytes())
    (arrived / "warp_lang-9.9.9.part-1-of-3").write_bytes((parts / "warp_lang-9.9.9.part-1-of-3").read_bytes()[:99])
    assert carry.main(["unpack", str(arrived), str(site)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "warp_lang-9.9.9.part-1-of-3 is damaged (99 bytes): transfer it again",
        "warp_lang-9.9.9.part-2-of-3 is missing",
    ]
    assert not (site / "warp").exists()
    for path in parts.iterdir():
        (arrived / path.name).write_bytes(path.read_bytes())
    assert carry.main(["unpack", str(arrived), str(site)]) == 0
    assert (site / "warp" / "__init__.py").exists()


def test_other_wheels_are_unpacked_beside_warp(parts, tmp_path):
    with zipfile.ZipFile(parts / "other-1-py3-none-any.whl", "w") as target:
        target.writestr("other/__init__.py", "")
    assert carry.main(["unpack", str(parts), str(tmp_path / "site")]) == 0
    assert (tmp_path / "site" / "other" / "__init__.py").exists()


def test_warp_packed_again_leaves_no_parts_of_before(parts, wheel):
    assert carry.pack(parts, wheel, part_size=10_000) > 3
    assert len(list(parts.glob("*.part-*"))) == len((parts / "SHA256SUMS").read_text().splitlines())
    with pytest.raises(ValueError, match="0 bytes"):
        carry.pack(parts, wheel, part_size=0)
