"""Full numbers: hostile clients and files of the demo, hostile names, full disks, and Ctrl-C at many moments."""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from itertools import islice

import numpy as np
import pytest

from seeds import seeds

pytest.importorskip("viser")
pytest.importorskip("typer")

import test_cli_attack
import test_demo_door as door
from broadphase.demo import start_demo
from broadphase.demo.mesh_files import read_mesh_file
from broadphase.errors import FileFormatError
from demo_clients import CAMERA, PATIENCE, assert_runs, client, encode, hostile_frames, port_of, send_all, until
from test_cli_hostile import COMMANDS, PROGRAM, check_arguments, check_files, interrupted, run as run
from test_files import ended_by, full_disk, killed_savers, small_files
from test_signals import NAMES, command_that_writes, end_at

pytestmark = [
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_hostile_clients_do_not_stop_the_page():
    page = start_demo("rectangles", count=100)
    try:
        for seed in seeds(20):
            send_all(page, islice(hostile_frames(page, random.Random(seed)), 2000))
            assert_runs(page)
    finally:
        page.stop()


def test_thousand_connections_leave_the_page_as_it_was():
    page = start_demo("rectangles", count=100)
    port = port_of(page)
    own = [f"Host: localhost:{port}", *door.UPGRADE]
    request = door.request_of([*own, f"Origin: http://localhost:{port}"])

    def come_and_go():
        with client(page) as connection:
            connection.send(encode(CAMERA))
            assert connection.recv(timeout=PATIENCE)

    def hang_up(sent):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as plain:
            plain.sendall(sent)

    try:
        come_and_go()
        begin = 0
        for seed in seeds(1000, least=100):
            rng = random.Random(f"connections {seed}")
            kind = rng.randrange(6)
            if kind < 2:
                come_and_go()
            elif kind == 2:
                hang_up(request)
            elif kind == 3:
                hang_up(request[: rng.randrange(len(request))])
            elif kind == 4:
                assert door.ask(page, [*own, "Origin: http://evil.example"])[0] == 403
            else:
                assert door.ask(page, [f"Host: evil.example:{port}"])[0] == 421
            if seed % 100 == 99:
                until(lambda: not page._door.pages)
                assert_runs(page)
                until(lambda: not page._door.pages)
                held = threading.active_count() + len(os.listdir("/proc/self/fd") if sys.platform == "linux" else ())
                begin = begin or held
                assert held < begin + 20
    finally:
        page.stop()


@pytest.mark.parametrize("name", door.HOSTILE_FILES)
def test_hostile_files_are_refused_by_a_process_of_its_own(name):
    with pytest.raises(FileFormatError):
        read_mesh_file(name, door.HOSTILE_FILES[name]())


def test_damaged_files_are_read_or_refused(monkeypatch):
    monkeypatch.setattr(
        door.mesh_files, "_ask_process", lambda _, suffix, content: door.mesh_files._answer(suffix, content)
    )
    import trimesh

    vertices, faces = door.ball(1)
    whole = {
        suffix: trimesh.Trimesh(vertices, faces).export(file_type=suffix) for suffix in ("stl", "obj", "ply", "glb")
    }
    for seed in seeds(2000):
        rng = random.Random(f"files {seed}")
        suffix = rng.choice(list(whole))
        content = bytearray(whole[suffix].encode() if isinstance(whole[suffix], str) else whole[suffix])
        for _ in range(rng.randrange(1, 6)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        try:
            mesh = read_mesh_file(
                f"a.{suffix}", bytes(content[: rng.choice([len(content), rng.randrange(len(content))])])
            )
        except FileFormatError:
            continue
        assert int(mesh.faces.max()) < len(mesh.vertices)


def test_hostile_names_reach_the_terminal_escaped_and_clipped(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in seeds(100, 6):
        check_arguments(run, seed, 3)
        check_files(run, tmp_path, seed, 1)


def test_ctrl_c_at_many_moments_ends_the_program_quietly():
    for seed in seeds(100):
        rng = random.Random(f"ctrl-c {seed}")
        for moment, code, err in interrupted([(rng.random(), rng.choice(COMMANDS)) for _ in range(2)]):
            assert (code in (0, 130), err) == (True, b""), moment


def test_random_command_lines_end_with_one_line_and_leave_nothing(tmp_path, capsys, monkeypatch):
    codes = Counter()
    for seed in seeds(200, 1):
        folder = tmp_path / str(seed)
        folder.mkdir()
        monkeypatch.chdir(folder)
        codes += Counter(test_cli_attack.attack(folder, seed, 50, capsys))
    print(codes)


@pytest.mark.parametrize("name", NAMES)
def test_signal_every_5_ms_of_the_first_second_ends_the_command(name, tmp_path):
    command, path = command_that_writes(tmp_path)
    for seed in seeds(200, least=10):
        end_at(0.005 * seed, name, command, path)


def test_every_writer_at_every_size_leaves_the_older_file(tmp_path):
    assert small_files(tmp_path, 500) == "done\n"


def test_full_disk_refuses_every_writer_and_leaves_the_older_file(tmp_path):
    (tmp_path / "disk").mkdir()
    print(full_disk(tmp_path / "disk", 200))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no SIGKILL")
def test_thousand_processes_killed_while_saving_leave_the_old_file_or_the_new_one(tmp_path):
    inside = Counter()
    for seed in seeds(100, least=10):
        inside += Counter(killed_savers(tmp_path, 10, seed))
    print(inside)
    assert len(inside) == 8


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_command_ended_by_signals_deletes_its_unfinished_file(name, tmp_path):
    number = getattr(signal, name)
    for _ in seeds(50):
        assert ended_by(number, tmp_path) == (128 + number, b"", [("events.csv", "old")])


def long_command(folder, name):
    """Give a long command that writes a file of this name."""
    import trimesh

    rng = np.random.default_rng(1)
    if name.startswith("pairs"):
        lower = rng.uniform(0, 300, (400_000, 2))
        np.save(folder / "boxes.npy", np.concatenate([lower, lower + 1], axis=1))
        return ["pairs", str(folder / "boxes.npy"), "--output"]
    if name.startswith("clashes"):
        scene = trimesh.Scene()
        for number, place in enumerate(rng.uniform(0, 8, (250, 3))):
            pose = trimesh.transformations.translation_matrix(place)
            scene.add_geometry(trimesh.creation.icosphere(3), node_name=f"part {number}", transform=pose)
        scene.export(folder / "parts.glb")
        return ["clash", str(folder / "parts.glb"), "--clearance", "0.1", "--output"]
    run = ["run", "bouncing_rectangles", "--steps", "150", "--quiet"]
    return [*run, "--stay", "--events"] if name.startswith("events") else [*run, "--replay"]


@pytest.mark.parametrize(
    "name", ["pairs.npy", "pairs.npz", "pairs.csv", "pairs.parquet", "clashes.html", "events.parquet", "run.html"]
)
def test_signals_in_every_phase_of_long_commands_leave_the_older_file_or_the_whole_one(name, tmp_path):
    (tmp_path / "out").mkdir()
    path, command = tmp_path / "out" / name, long_command(tmp_path, name)
    arguments = [sys.executable, "-c", PROGRAM, *command, str(path)]
    begin = time.monotonic()
    subprocess.run(arguments, capture_output=True, check=False, timeout=300)
    seconds, whole, codes = time.monotonic() - begin, path.stat().st_size, Counter()
    for seed in seeds(100):
        rng = random.Random(f"signals {seed}")
        path.write_bytes(b"old")
        number = rng.choice([signal.SIGINT, signal.SIGTERM])
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.read(1)
            time.sleep(rng.uniform(0, 1.1 * seconds))
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
        codes[process.returncode] += 1
        assert b"Traceback" not in err, err
        # Killed by the signal itself: while Python ends, its handlers gone; by SIGTERM also before they are there.
        assert process.returncode in {signal.SIGINT: (0, 4, 130, -2), signal.SIGTERM: (0, 4, 143, -15)}[number]
        assert process.returncode != -2 or path.read_bytes() != b"old"
        # A run that is interrupted keeps the steps up to then; figures of times have some digits or others.
        is_whole = path.stat().st_size > 0.9 * whole or command[0] == "run"
        assert path.read_bytes() == b"old" or is_whole, (name, number, process.returncode)
        assert [one.name for one in path.parent.iterdir()] == [name]
    print(name, dict(codes))


RECORDING = """
import os, resource, sys
import broadphase as bp
path, most = sys.argv[1], int(sys.argv[2])
open(path, "wb").write(b"old")
world = bp.World(dim=2)
world.add(bp.Circle(1), position=(0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
try:
    with bp.recording.record(world, path):
        for _ in range(300):
            world.step(0.01)
except OSError:
    print(open(path).read(), os.listdir(os.path.dirname(path)))
"""


@pytest.mark.parametrize("most", [0, 1000, 70_000, 120_000])
def test_recording_that_runs_out_of_space_leaves_the_older_file(tmp_path, most):
    pytest.importorskip("rerun")
    pytest.importorskip("resource")
    command = [sys.executable, "-c", RECORDING, str(tmp_path / "a.rrd"), str(most)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=True, timeout=120)
    assert done.stdout == "old ['a.rrd']\n"
