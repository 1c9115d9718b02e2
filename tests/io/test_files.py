"""Files are written whole or not at all, whatever writes them."""

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from io import BytesIO

import numpy as np
import pytest

import broadphase as bp
import full_disk as full_disk_program
import killed_savers as killed_savers_program
from broadphase import io
from broadphase.files import replacing
from broadphase.recording import Replay


def write_snapshot(path):
    bp.World(dim=2).save(path)


def write_pairs(path):
    io.write_pairs(path, np.array([[0, 1]], np.int32))


def write_events(path):
    io.write_events(path, iter([]))


def write_replay(path):
    Replay(bp.World(dim=2)).save(path)


WRITERS = {"world.bp": write_snapshot, "pairs.npy": write_pairs, "pairs.npz": write_pairs, "pairs.csv": write_pairs}
WRITERS |= {"events.csv": write_events, "run.html": write_replay}


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_synced_before_the_file_gets_its_name(name, tmp_path, monkeypatch):
    path, synced = tmp_path / name, []
    path.write_bytes(b"old")
    sync = os.fsync

    def note(descriptor):
        synced.append(path.read_bytes())
        sync(descriptor)

    monkeypatch.setattr("os.fsync", note)
    WRITERS[name](path)
    assert synced == [b"old"]
    assert path.read_bytes() != b"old"


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_on_a_full_disk_leaves_the_older_file(name, tmp_path, monkeypatch):
    path = tmp_path / name
    path.write_bytes(b"old")

    def fail(descriptor):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        WRITERS[name](path)
    assert path.read_bytes() == b"old"
    assert [found.name for found in tmp_path.iterdir()] == [name]


def test_block_that_raises_leaves_nothing_behind(tmp_path):
    def write_half():
        with replacing(tmp_path / "new.txt") as unfinished:
            unfinished.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        write_half()
    assert not list(tmp_path.iterdir())


def test_two_writers_of_one_file_do_not_mix(tmp_path):
    path = tmp_path / "count.txt"
    code = (
        "import sys\nfrom broadphase.files import replacing\n"
        "for number in range(50):\n"
        "    with replacing(sys.argv[1]) as unfinished:\n"
        "        unfinished.write_text(sys.argv[2] * 10_000)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), letter]) for letter in "ab"]
    assert [process.wait(120) for process in running] == [0, 0]
    text = path.read_text()
    assert len(text) == 10_000
    assert len(set(text)) == 1
    assert [found.name for found in tmp_path.iterdir()] == ["count.txt"]


# Runs every writer again and again, each time with another greatest size of files; prints what was wrong.
FULL_DISK = """
import os, resource, sys
import test_files
WRITERS = test_files.WRITERS
folder = sys.argv[1]
whole = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
for name, write in WRITERS.items():
    path = os.path.join(folder, name)
    write(path)
    size = os.path.getsize(path)
    step = max(1, size // int(sys.argv[2]))
    for most in [*range(0, size, step), size - 1]:
        with open(path, "wb") as stream:
            stream.write(b"old")
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, whole))
        try:
            write(path)
            print(name, most, "no error")
        except OSError:
            pass
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (whole, whole))
        with open(path, "rb") as stream:
            if stream.read() != b"old":
                print(name, most, "the older file is gone")
        left = [one for one in os.listdir(folder) if one.endswith(".part")]
        if left:
            print(name, most, "left", left)
    os.remove(path)
print("done")
"""


def small_files(folder, tries):
    pytest.importorskip("resource", reason="Windows has no limits of sizes")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(folder), str(tries)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_every_writer_that_runs_out_of_space_leaves_the_older_file(tmp_path):
    assert small_files(tmp_path, 7) == "done\n"


def full_disk(folder, tries):
    """Write to a disk that is full; give how many writes were refused, by the name of the file."""
    for library in ("pyarrow", "trimesh", "typer"):
        pytest.importorskip(library)
    apart = ["unshare", "--map-root-user", "--mount"]  # this process sees the mounted disk, and its end removes it
    if shutil.which("unshare") is None or subprocess.run([*apart, "mount", "-t", "tmpfs", "none", folder]).returncode:
        pytest.skip("a disk cannot be mounted here")
    command = [*apart, sys.executable, full_disk_program.__file__, str(folder), str(tries)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    refused = dict(line.split(" ") for line in said.splitlines() if line.count(" ") == 1)
    assert len(refused) == len(said.splitlines()) >= 13, said
    return {name: int(number) for name, number in refused.items()}


def test_error_of_a_full_disk_names_the_file_and_the_older_one_stays(tmp_path):
    (tmp_path / "disk").mkdir()
    assert all(full_disk(tmp_path / "disk", 2).values())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a disk that is always full")
def test_what_is_not_a_file_is_written_and_not_replaced(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as reader:
        write_pairs(path)
        assert reader.communicate(timeout=60)[0].splitlines()[-1] == b"0,1"
    assert stat.S_ISFIFO(path.stat().st_mode)
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its text is that of the locale
        write_snapshot("/dev/full")
    assert caught.value.errno == errno.ENOSPC
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_pipe_of_an_archive_leaves_the_array_beside_it_alone(tmp_path):
    path, beside = tmp_path / "pairs.npz", tmp_path / "pairs.npy"
    beside.write_bytes(b"not ours")
    os.mkfifo(path)
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as reader:
        write_pairs(path)
        stored = np.load(BytesIO(reader.communicate(timeout=60)[0]))
    assert stored["pairs"].tolist() == [[0, 1]]
    assert beside.read_bytes() == b"not ours"


def killed_savers(folder, kills, seed):
    """Kill processes while they save; give how many of them were inside, by the name of the file."""
    pytest.importorskip("pyarrow")
    command = [sys.executable, killed_savers_program.__file__, str(folder), str(kills), str(seed)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    inside = dict(line.split(" ") for line in said.splitlines() if line.count(" ") == 1)
    assert len(inside) == len(said.splitlines()) == 8, said
    return {name: int(number) for name, number in inside.items()}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no SIGKILL")
def test_process_killed_while_saving_leaves_the_old_file_or_the_new_one(tmp_path):
    assert sum(killed_savers(tmp_path, 6, 5).values())


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_permissions_and_links_of_the_older_file_are_kept(tmp_path):
    target, link = tmp_path / "private.csv", tmp_path / "link.csv"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    write_pairs(link)
    assert link.is_symlink()
    assert target.read_text() != "old"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.csv", "private.csv"]


def ended_by(number, folder):
    """End the command while it writes; return its exit code, what it printed, and the files that are left."""
    path = folder / "events.csv"
    path.write_text("old")
    command = ["run", "bouncing_rectangles", "--steps", "1000000", "--events", str(path), "--quiet"]
    with subprocess.Popen([sys.executable, "-m", "broadphase.cli", *command], stderr=subprocess.PIPE) as process:
        end = time.monotonic() + 60
        while not any(one.suffix == ".part" for one in folder.iterdir()):
            assert time.monotonic() < end
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    return process.returncode, err, [(one.name, one.read_text()) for one in folder.iterdir()]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals")
def test_command_ended_by_a_signal_deletes_its_unfinished_file(tmp_path):
    pytest.importorskip("typer")
    assert ended_by(signal.SIGTERM, tmp_path) == (128 + signal.SIGTERM, b"", [("events.csv", "old")])
