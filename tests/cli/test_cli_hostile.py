"""The command with hostile names and at bad moments: no control codes, no endless lines, no tracebacks."""

import os
import random
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

import broadphase as bp
from broadphase import cli, io, scenes
from broadphase.errors import clipped, unknown_name

pytest.importorskip("typer")
pytest.importorskip("rich")

CODES = ["\x1b[31m", "\x1b]0;title\x07", "\r", "\b", "\x7f", "\x9b2J", "\u202e", "\u2028", "\x00", "\n", "\t", "\ud800"]


def hostile_names(seed, count):
    """Yield names with control codes, and very long ones."""
    rng = random.Random(seed)
    for _ in range(count):
        parts = [rng.choice([*CODES, "a", "é", "名", " ", "[red]", "%s", "{x}"]) for _ in range(rng.randrange(1, 8))]
        yield "".join(parts) * rng.choice([1, 1, 1, 40_000])


def unsafe(text):
    return sorted({one for one in text if not one.isprintable() and one != "\n"})


def assert_is_safe(out, err, name):
    assert not unsafe(out + err), name[:50]
    assert max(map(len, err.split("\n"))) < 20_000
    assert "Traceback" not in err


@pytest.fixture
def run(capsys):
    def run_and_read(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run_and_read


def check_arguments(run, seed, count):
    for name in hostile_names(seed, count):
        for arguments in (
            [name],
            ["count", name],
            ["run", name],
            ["run", "bouncing_rectangles", "--dt", name],
            ["pairs", "us_counties", "--method", name],
            ["pairs", "us_counties", "-o", name],
            [f"--{name}"],
        ):
            code, out, err = run(*arguments)
            assert code in (1, 2), (name[:50], arguments[:2], err[:300])
            assert err
            assert_is_safe(out, err, name)


def check_files(run, folder, seed, count):
    for number, name in enumerate(hostile_names(seed, count)):
        quoted = name.replace("\ud800", "").replace("\x00", "").replace("\r", "").replace('"', "")
        # Two boxes that touch, an invalid one, and a column of another name.
        rows = f'name,xmin,ymin,xmax,ymax\n"{quoted}",0,0,2,2\n"{quoted}2",1,1,3,3\n'
        files = {
            "good.csv": (rows, 0),
            "bad.csv": (rows + f'"{quoted}",5,5,4,4\n', 1),
            "text.csv": (rows + f'b,"{quoted}x",5,6,7\n', 1),
            "columns.csv": (f'"{quoted}x",xmin\n1,2\n', 1),
            "scene.toml": (f'title = "x"\n[[{number}]]\n"""{quoted}"""', 1),
        }
        for file, (text, expected) in files.items():
            (folder / file).write_text(text, "utf-8", newline="")
            for arguments in (["pairs", file], ["pairs", file, "--json"], ["info", file]):
                command = ["run", file] if file.endswith("toml") else arguments
                code, out, err = run(*command)
                assert code == expected or (code, arguments[0]) == (0, "info"), (file, err[:300], quoted[:50])
                assert_is_safe(out, err, quoted)


def test_hostile_arguments_reach_the_terminal_escaped_and_clipped(run):
    check_arguments(run, 1, 4)


def test_hostile_names_in_files_reach_the_terminal_escaped_and_clipped(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_files(run, tmp_path, 2, 3)


def test_messages_clip_what_they_quote():
    for name in hostile_names(3, 30):
        for most in (0, 1, 10, 200):
            text = clipped(name, most)
            assert text.isprintable()
            assert len(text) <= 10 * most + 60
        message = unknown_name("method", name, ["grid", "octree", name + "x"])
        assert message.isprintable()
        assert len(message) < 9000
    assert clipped("plain, é, 名") == "plain, é, 名"
    assert clipped(["a\x1b"]) == "['a\\x1b']"
    assert len(unknown_name("layer", "x", map(str, range(10**5)))) < 1000


def test_full_output_is_an_error_without_a_traceback():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "broadphase.cli", "count", "us_counties"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "error: output: No space left on device\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("arguments", "closed", "expected"),
    [("count us_counties", ">&-", (0, "", "")), ("count nothing", "2>&- <&-", (1, "", ""))],
)
def test_closed_standard_streams_are_as_if_nobody_listened(arguments, closed, expected):
    command = f"exec {sys.executable} -m broadphase.cli {arguments} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == expected


# The command runs in another folder.
WITH_PATH = os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))}


# The reader has ended before anything is written.
@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("errors", ["", "2>&1"])
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("pairs us_counties --progress", 0),
        ("count us_counties --json", 0),
        ("info us_counties", 0),
        ("explain us_counties", 0),
        ("run bouncing_rectangles --steps 20 --progress --events events.csv", 0),
        ("clash engine.glb --json", 4),
        ("demo --list", 0),
        ("pairs --help", 0),
        ("count nothing", 1),
        ("nothing", 2),
    ],
)
def test_pipe_whose_reader_has_ended_is_as_if_nobody_listened(arguments, expected, errors, tmp_path):
    if arguments.startswith("clash"):
        trimesh = pytest.importorskip("trimesh")
        box = trimesh.creation.box
        trimesh.Scene({"large": box((2, 2, 2)), "long": box((1, 1, 3))}).export(tmp_path / "engine.glb")
    command = [sys.executable, "-m", "broadphase.cli", *arguments.split()]
    reader, writer = os.pipe()
    os.close(reader)
    said = writer if errors else subprocess.PIPE
    done = subprocess.run(command, stdout=writer, stderr=said, cwd=tmp_path, env=WITH_PATH)
    os.close(writer)
    assert done.returncode == expected, done.stderr
    assert b"Traceback" not in (done.stderr or b"")
    if expected == 0 and not errors and "--progress" not in arguments:
        assert done.stderr == b""
    if "--events" in arguments:
        assert (tmp_path / "events.csv").read_text().count("\n") > 100


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("info", 1),
        ("pairs us_counties", 1),
        ("count us_counties", 1),
        ("run crowd -n 3", 1),
        ("--help", 1),
        ("none", 2),
    ],
)
def test_full_disk_behind_stdout_or_stderr_is_reported_once_and_keeps_the_code(arguments, code):
    command = [sys.executable, "-m", "broadphase.cli", *arguments.split()]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert (done.returncode, done.stderr.count("error: ")) == (code, 1), done.stderr
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full)
        assert done.returncode == (code if code == 2 else 0)


PROGRAM = "import sys; from broadphase_command import main; print('.', flush=True); sys.exit(main())"


def interrupted(moments):
    """Press Ctrl-C so many seconds after the program has begun; return the exit codes and what was printed."""
    running = [
        (
            moment,
            subprocess.Popen([sys.executable, "-c", PROGRAM, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE),
        )
        for moment, command in moments
    ]
    for moment, process in running:
        assert process.stdout.read(1) == b"."
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        yield moment, process.returncode, err


COMMANDS = (["info"], ["run", "bouncing_rectangles", "--steps", "100000", "-q"], ["pairs", "us_counties"])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for one process")
def test_ctrl_c_at_any_time_ends_the_program_quietly():
    for moment, code, err in interrupted(
        [(0.0, COMMANDS[0]), (0.05, COMMANDS[1]), (0.15, COMMANDS[2]), (0.4, COMMANDS[1])]
    ):
        assert (code in (0, 130), err) == (True, b""), moment


LATE = """
import os, signal
class Late:
    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.SIGINT):
        kill(process, number)
late = Late()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for one process")
def test_ctrl_c_while_python_ends_does_not_change_the_exit_code():
    command = [sys.executable, "-c", LATE + PROGRAM, "count", "us_counties"]
    done = subprocess.run(command, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signal_that_a_library_swallows_ends_the_program_quietly(run, name, monkeypatch, request):
    number = getattr(signal, name)
    # Ray, in an earlier test of this process, handles SIGTERM from then on, and a handler of others is left in place.
    before = signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)
    request.addfinalizer(partial(signal.signal, number, before or signal.SIG_DFL))

    def swallow(*_, **options):
        try:
            signal.raise_signal(number)
        except BaseException:
            raise TypeError("a library that is half imported") from None

    monkeypatch.setattr("broadphase.count_pairs", swallow)
    code, _, err = run("count", "us_counties")
    assert (code, err) == (128 + number, "")


LONG = "x\x1b[31m" * 300_000


@pytest.mark.parametrize(
    "call",
    [
        lambda: bp.World(dim=2).add(bp.Circle(1), layer=LONG, actor=LONG),
        lambda: bp.World(dim=2, boundary=LONG),
        lambda: bp.World(dim=2).on_enter(LONG, LONG, LONG),
        lambda: bp.pairs([[0, 0, 1, 1]], method=LONG),
        lambda: bp.pairs([[0, 0, 1, 1]], workers=-(10**5000)),
        lambda: bp.SweepAndPrune([[0, 0, 1, 1]], axis=LONG),
        lambda: bp.Octree([[0, 0, 1, 1]], max_depth=LONG),
        lambda: scenes.load(LONG),
        lambda: io.read_boxes(LONG),
        lambda: bp.boxes.from_columns({"left": [0], LONG: [1]}, left=LONG, right=LONG),
        lambda: getattr(bp, LONG),
    ],
)
def test_errors_of_the_library_clip_what_they_quote(call):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    assert len(str(caught.value)) < 20_000
    assert not unsafe(str(caught.value))
