"""Files are written whole or not at all, whatever writes them."""

import os
import subprocess
import sys

import numpy as np
import pytest

import broadphase as bp
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
