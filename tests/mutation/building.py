"""The core with all mutants in it, each behind a test of one number."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from mutation.places import Place, chosen

# Where the tests of the core are built, in the folder of the mutants: sanitizers see reads and writes beyond an end.
SANITIZED = "sanitized"

# Included in front of every file. The number is set by the environment, and by whoever finds it in the module. Places
# that run are marked, so that a mutant meets only the tests that get there.
_SWITCH = """#pragma once
extern "C" int broadphase_mutant;
extern "C" unsigned char broadphase_reached[];
#define BROADPHASE_MUTANT(number) (broadphase_reached[number] = 1, __builtin_expect(broadphase_mutant == (number), 0))
"""
_NUMBER = """
#include <cstdio>
#include <cstdlib>
extern "C" __attribute__((visibility("default"))) int broadphase_mutant =
    std::getenv("BROADPHASE_MUTANT") ? std::atoi(std::getenv("BROADPHASE_MUTANT")) : 0;
extern "C" __attribute__((visibility("default"))) unsigned char broadphase_reached[REACHED] = {};
namespace {
struct AtEnd {
  ~AtEnd() {
    const char* path = std::getenv("BROADPHASE_MARKS");
    std::FILE* file = path ? std::fopen(path, "wb") : nullptr;
    if (!file) return;
    std::fwrite(broadphase_reached, 1, sizeof broadphase_reached, file);
    std::fclose(file);
  }
} at_end;
}
"""


def is_built(root: Path, folder: Path, seed: int) -> bool:
    """Return whether the folder holds the mutants of this core, and not of an older one."""
    made_of = folder / "made_of.txt"
    return made_of.exists() and made_of.read_text() == _digest(root, seed)


def build(root: Path, folder: Path, seed: int) -> list[Place]:
    """Make the module in `folder`, and list its mutants in `folder/mutants.json`; numbers begin at 1.

    What was found out about the mutants of an older core is deleted.

    Changes that the compiler refuses are replaced by others: rounds of a check of syntax come before the build, with
    more changes than there will be mutants, so that one or two rounds do.
    """
    for file in ("made_of.txt", "mutants.json", "results.jsonl", "core_tests.json"):
        (folder / file).unlink(missing_ok=True)
    refused: set[tuple[str, int, int]] = set()
    taken: set[Place] = set()
    while not taken.issuperset(sample := chosen(root / "core", seed, refused)):
        more = chosen(root / "core", seed, refused, spare=0.2)
        _write_tree(root, folder, more)
        bad = _refused(folder, more)
        print(f"{len(more)} changes, {len(bad)} refused by the compiler", flush=True)
        refused |= {(place.file, place.start, place.end) for place in bad}
        taken |= set(more) - set(bad)
    _write_tree(root, folder, sample)
    subprocess.run(["cmake", "--build", folder / "build", "--target", "_core"], check=True, stdout=subprocess.DEVNULL)
    _configure(folder, SANITIZED, "-DBROADPHASE_PYTHON=OFF", "-DBROADPHASE_TESTS=ON",
               "-DBROADPHASE_SANITIZE=address,undefined")  # fmt: skip
    subprocess.run(
        ["cmake", "--build", folder / SANITIZED, "--target", *core_tests(root)], check=True, stdout=subprocess.DEVNULL
    )
    package = folder / "package" / "broadphase"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(root / "src" / "broadphase", package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copytree(root / "src" / "broadphase_command", package.parent / "broadphase_command", dirs_exist_ok=True)
    for module in (folder / "build" / "core" / "bindings").glob("_core*.so"):
        shutil.copy(module, package)
    (folder / "mutants.json").write_text(json.dumps([asdict(place) for place in sample], indent=1))
    (folder / "made_of.txt").write_text(_digest(root, seed))
    return sample


def core_tests(root: Path) -> list[str]:
    """Return the names of the programs that test the core without Python."""
    return sorted(path.stem for path in (root / "core" / "tests").glob("test_*.cpp"))


def _digest(root: Path, seed: int) -> str:
    digest = hashlib.sha256(str(seed).encode())
    for path in sorted((root / "core").rglob("*.[ch]pp")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def _configure(folder: Path, build: str, *options: str) -> None:
    subprocess.run(
        ["cmake", "-S", folder / "tree", "-B", folder / build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=",
         "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", f"-DCMAKE_CXX_FLAGS=-w -include {folder / 'tree' / 'mutant.hpp'}",
         *options],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip


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
    _configure(folder, "build", f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_ROOT={nanobind}")
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
