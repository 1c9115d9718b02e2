"""The core with all mutants in it, each behind a test of one number."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from mutation.places import Place, chosen

# Included in front of every file. The number is set by the environment, and by whoever finds it in the module. Places
# that run are marked, so that a mutant meets only the tests that get there.
_SWITCH = """#pragma once
extern "C" int broadphase_mutant;
extern "C" unsigned char broadphase_reached[];
#define BROADPHASE_MUTANT(number) (broadphase_reached[number] = 1, __builtin_expect(broadphase_mutant == (number), 0))
"""
_NUMBER = """
#include <cstdlib>
extern "C" __attribute__((visibility("default"))) int broadphase_mutant =
    std::getenv("BROADPHASE_MUTANT") ? std::atoi(std::getenv("BROADPHASE_MUTANT")) : 0;
extern "C" __attribute__((visibility("default"))) unsigned char broadphase_reached[REACHED] = {};
"""


def build(root: Path, folder: Path, seed: int) -> list[Place]:
    """Make the module in `folder`, and list its mutants in `folder/mutants.json`; numbers begin at 1.

    Changes that the compiler refuses are replaced by others: rounds of a check of syntax come before the build.
    """
    refused: set[tuple[str, int, int]] = set()
    while True:
        sample = chosen(root / "core", seed, refused)
        _write_tree(root, folder, sample)
        bad = _refused(folder, sample)
        print(f"{len(sample)} mutants, {len(bad)} refused by the compiler", flush=True)
        if not bad:
            break
        refused |= {(place.file, place.start, place.end) for place in bad}
    subprocess.run(["cmake", "--build", folder / "build", "--target", "_core"], check=True, stdout=subprocess.DEVNULL)
    package = folder / "package" / "broadphase"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(root / "src" / "broadphase", package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copytree(root / "src" / "broadphase_command", package.parent / "broadphase_command", dirs_exist_ok=True)
    for module in (folder / "build" / "core" / "bindings").glob("_core*.so"):
        shutil.copy(module, package)
    (folder / "mutants.json").write_text(json.dumps([asdict(place) for place in sample], indent=1))
    return sample


def _write_tree(root: Path, folder: Path, sample: list[Place]) -> None:
    """Write the sources of the core with the mutants in them; files that stay the same are not touched."""
    tree = folder / "tree"
    texts = {Path("CMakeLists.txt"): (root / "CMakeLists.txt").read_text()}
    sources = (path for path in (root / "core").rglob("*") if path.suffix in {".cpp", ".hpp", ".txt", ".map", ".cmake"})
    texts |= {path.relative_to(root): path.read_text() for path in sources}
    for path, text in texts.items():
        places = [(number, place) for number, place in enumerate(sample, 1) if Path("core", place.file) == path]
        for number, place in sorted(places, key=lambda pair: -pair[1].start):
            text = text[: place.start] + place.switched(number, text) + text[place.end :]
        if path.name == "CMakeLists.txt":
            text = re.sub(r"-O[23s]\b", "-O1", text).replace(" -Werror", "")
        if path == Path("core/bindings/exports.map"):
            text = text.replace("PyInit_*;", "PyInit_*; broadphase_mutant; broadphase_reached;")
        if path == Path("core/simd/levels.cpp"):
            text += _NUMBER.replace("REACHED", str(len(sample) + 1))
        target = tree / path
        if not target.exists() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    (tree / "mutant.hpp").write_text(_SWITCH)


def _refused(folder: Path, sample: list[Place]) -> list[Place]:
    """Return the mutants in lines that the compiler does not take."""
    nanobind = subprocess.run(
        [sys.executable, "-m", "nanobind", "--cmake_dir"], check=True, capture_output=True, text=True
    ).stdout.strip()
    subprocess.run(
        ["cmake", "-S", folder / "tree", "-B", folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=",
         "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_ROOT={nanobind}",
         f"-DCMAKE_CXX_FLAGS=-w -include {folder / 'tree' / 'mutant.hpp'}"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    commands = json.loads((folder / "build" / "compile_commands.json").read_text())
    commands = [command for command in commands if str(folder / "tree") in command["file"]]
    running: list[subprocess.Popen[str]] = []
    lines: set[tuple[str, int]] = set()
    said = ""

    def wait() -> None:
        nonlocal said
        errors = running.pop(0).communicate()[1]
        said += errors
        for file, line in re.findall(r"([\w/.-]+\.[ch]pp):(\d+):\d+: (?:fatal )?error", errors):
            lines.add((file, int(line)))
        # Where a constant was expected, and what a template of a mutant made of it, is told in the notes.
        for file, line in re.findall(
            r"([\w/.-]+\.[ch]pp):(\d+):\d+: note: in expansion of macro .BROADPHASE_MUTANT", errors
        ):
            lines.add((file, int(line)))
        for file, line in re.findall(r"([\w/.-]+\.[ch]pp):(\d+):\d+:   (?:required|in) from", errors):
            lines.add((file, int(line)))

    for command in commands:
        if len(running) == (os.cpu_count() or 1):
            wait()
        line = re.sub(r" -o \S+ -c ", " -fsyntax-only ", command["command"])
        running.append(subprocess.Popen(line.split(), cwd=command["directory"], stderr=subprocess.PIPE, text=True))
    while running:
        wait()
    bad = [place for place in sample if (str(folder / "tree" / "core" / place.file), place.line) in lines]
    if said and not bad:
        raise RuntimeError(f"the compiler refuses the core, and not for a mutant:\n{said[:4000]}")
    return bad
