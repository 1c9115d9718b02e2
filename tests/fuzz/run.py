"""Fuzz by coverage: the core's targets by libFuzzer, the readers by Atheris. See `make fuzz`.

``python tests/fuzz/run.py SECONDS [NAME...]`` runs each target for as long, one after the other, from its corpus on
and from what earlier runs have left in ``build/fuzz/corpus``. What gives a wrong result is left in
``build/fuzz/found``. ``--keep`` puts what covers the most into the corpora. ``ran.json`` sums up how many inputs each
target has had, and the processor's seconds.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "fuzz"
FOUND = BUILD / "found"
CORE = ROOT / "core" / "fuzz" / "corpus"
READERS = Path(__file__).with_name("corpus.zip")
RAN = Path(__file__).with_name("ran.json")
CORE_NAMES = sorted(path.stem for path in CORE.glob("*.bin"))
MOST_KEPT = 16 << 10  # bytes of a corpus
LONGEST = 1500


def inputs_of(content):
    """Give the inputs of a corpus: each follows its length, four bytes."""
    at = 0
    while at < len(content):
        size = int.from_bytes(content[at : at + 4], "little")
        yield content[at + 4 : at + 4 + size]
        at += 4 + size


def reader_inputs():
    """Give name and content of each input of the readers' corpus."""
    with zipfile.ZipFile(READERS) as archive:
        for member in sorted(archive.namelist()):
            for content in inputs_of(archive.read(member)):
                yield member.removesuffix(".bin"), content


def unpacked(inputs, name):
    """Put the inputs of a target into its folder, one file each, beside those of earlier runs."""
    folder = BUILD / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    for content in inputs:
        (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)  # as libFuzzer names them
    return folder


def kept(folder, most):
    """Give the inputs of a folder, the smallest first, as many as have room."""
    inputs = sorted((path.read_bytes() for path in folder.iterdir()), key=lambda one: (len(one), one))
    while sum(map(len, inputs)) + 4 * len(inputs) > most:
        inputs.pop()
    return inputs


def build():
    """Build the core's targets by Clang, under sanitizers."""
    options = ["-DCMAKE_BUILD_TYPE=", "-DBROADPHASE_PYTHON=OFF", "-DBROADPHASE_FUZZ=ON",
               "-DBROADPHASE_SANITIZE=address,undefined", "-DCMAKE_CXX_COMPILER=clang++"]  # fmt: skip
    subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD], check=True)


def run(command, folder, name, seconds):
    """Run a target on a folder of inputs, to which it adds what covers more."""
    environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}
    limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-len_control=10", "-timeout=100"]
    # Without entropy, which takes longer to weigh an input than most take to run.
    options = [*limits, "-entropic=0", "-rss_limit_mb=6000", "-print_final_stats=1"]
    options.append(f"-artifact_prefix={FOUND}/{name}-")
    before = processor_seconds()
    with subprocess.Popen([*command, *options, folder], env=environment, stderr=subprocess.PIPE) as process:
        inputs = 0
        for line in process.stderr:
            sys.stderr.write(line.decode(errors="replace"))
            if found := re.match(rb"stat::number_of_executed_units: (\d+)", line):
                inputs = int(found[1])
    sum_up(name, inputs, processor_seconds() - before)
    return process.returncode == 0


def processor_seconds():
    """Give the processor's seconds of all processes that have ended."""
    used = os.times()
    return used.children_user + used.children_system


def sum_up(name, inputs, seconds):
    """Add to what a target has had so far."""
    sums = json.loads(RAN.read_text()) if RAN.exists() else {}
    before = sums.get(name, {"inputs": 0, "seconds": 0})
    sums[name] = {"inputs": before["inputs"] + inputs, "seconds": round(before["seconds"] + seconds)}
    lines = ",\n".join(f"  {json.dumps(one)}: {json.dumps(sums[one])}" for one in sorted(sums))
    RAN.write_text(f"{{\n{lines}\n}}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=int)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    FOUND.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in CORE_NAMES if not arguments.names or name in arguments.names]
    good = True
    if wanted:
        build()
    for name in wanted:
        folder = unpacked(inputs_of((CORE / f"{name}.bin").read_bytes()), name)
        program = BUILD / "core" / "fuzz" / f"fuzz_{name}"
        good &= run([program], folder, name, arguments.seconds)
        if arguments.keep:
            with tempfile.TemporaryDirectory() as less:
                subprocess.run([program, "-merge=1", less, folder], check=True, stderr=subprocess.DEVNULL)
                packed = b"".join(len(one).to_bytes(4, "little") + one for one in kept(Path(less), MOST_KEPT))
            (CORE / f"{name}.bin").write_bytes(packed)
    by_name = {}
    for name, content in reader_inputs():
        by_name.setdefault(name, []).append(content)
    atheris = Path(__file__).with_name("atheris_target.py")
    for name, inputs in by_name.items():
        if not arguments.names or name in arguments.names:
            good &= run([sys.executable, atheris, name], unpacked(inputs, name), name, arguments.seconds)
    sys.exit(not good)


if __name__ == "__main__":
    main()
