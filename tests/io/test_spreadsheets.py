"""Texts in .csv files: a spreadsheet takes none of them for a formula, and a terminal acts on none."""

import csv
import random
import re

import numpy as np
import pytest

import broadphase as bp
from broadphase import io
from broadphase.io import tables
from broadphase.io.part_file import Part, PartFile

HOSTILE = [
    '=HYPERLINK("http://evil.example";"x")', "=1+1", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "=",
    '"=1', "a;=1+1", 'a;"-1+1', "\x1b[31mred", "\x9b2J", "a\x00b", "\u202ekat", "\uff1d1+1", "\ud800", "-", "--", "+x",
]  # fmt: skip
PLAIN = [
    "wall",
    "-1.5",
    "+3",
    "-2e-7",
    "1=1",
    "a-b",
    "ö 名",
    "x@y",
    "",
    "1+1",
    "it's",
    "a, b",
    '6" pipe',
    "\u3000x\xa0y",
]
CORNERS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
FACES = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]


def cells_of(path):
    """Give the rows of a file as programs read them, and check that nothing in it is acted on."""
    text = path.read_text("utf-8")
    assert not [one for one in text if not one.isprintable() and one not in "\r\n\u3000\xa0"]
    for mark in ",;":  # whatever separates cells in the user's country
        for row in csv.reader(text.splitlines(), delimiter=mark):
            for cell in row:
                is_number = re.fullmatch(
                    r"[+-]?[\d.]+(e[+-]?\d+)?(,.*)?", cell
                )  # by semicolons, it begins a whole line
                assert is_number or not re.match(r"[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]", cell), cell
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture(params=[True, False], ids=["pyarrow", "plain"])
def with_pyarrow(request, monkeypatch):
    if request.param:
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(tables, "has_library", lambda name: request.param)


@pytest.mark.usefixtures("with_pyarrow")
def test_names_of_pairs_are_fit_for_spreadsheets(tmp_path):
    names = np.array([*HOSTILE, *PLAIN, None], object)
    rows = np.arange(len(names))
    io.write_pairs(tmp_path / "pairs.csv", np.stack([rows, rows[::-1]], axis=1), names)
    read = cells_of(tmp_path / "pairs.csv")
    assert [row["first"] for row in read] == [str(row) for row in rows]
    for name, row in zip(names, read, strict=True):
        if name in PLAIN or name is None:
            assert row["first_name"] == (name or "")
        else:
            assert row["first_name"] != name


@pytest.mark.usefixtures("with_pyarrow")
def test_layers_of_events_are_fit_and_negative_numbers_stay(tmp_path):
    count = len(HOSTILE)
    events = {name: np.full(count, -1) for name in ("frame", "first", "second", "first_handle", "second_handle")}
    events |= {
        "time": np.full(count, -1.5),
        "event": ["enter"] * count,
        "first_layer": HOSTILE,
        "second_layer": HOSTILE,
    }
    io.write_events(tmp_path / "events.csv", [events])
    read = cells_of(tmp_path / "events.csv")
    assert {(row["frame"], row["time"], row["first"]) for row in read} == {("-1", "-1.5", "-1")}


@pytest.mark.parametrize("suffix", [".csv", ".json", ".html"])
def test_names_of_clashing_parts_and_of_their_files_are_fit(suffix, tmp_path):
    places = np.arange(len(HOSTILE))[:, None] * [-0.1, 0, 0]
    mesh = np.array(CORNERS, float), np.array(FACES)
    parts = [Part(name, *mesh, place, np.eye(4)[0], None) for name, place in zip(HOSTILE, places, strict=True)]
    files = [PartFile(parts, "=caf\udce9.glb", "-x")]
    found = bp.clashes(bp.Shapes([bp.Mesh(*mesh)] * len(parts), places))
    path = tmp_path / f"clashes{suffix}"
    assert io.write_clashes(path, found, files) == len(found.pairs) > 100
    if suffix == ".csv":
        read = cells_of(path)
        assert {row["first_file"] for row in read} == {r"'=caf\udce9.glb"}
        assert min(float(row["x1"]) for row in read) < 0
        assert {row["unit"] for row in read} == {"'-x"}
        for row, (first, _) in zip(read, found.pairs[found.worst_first()].tolist(), strict=True):
            if HOSTILE[first].isprintable() and HOSTILE[first][0] in "=+-@":
                assert row["first"] == f"'{HOSTILE[first]}"
    else:
        path.read_text("utf-8")


def test_random_texts_are_fit():
    rng = random.Random(3)
    for _ in range(20_000):
        text = "".join(rng.choice("=+-@\t\r\n\"';, 1.e\x1b\x85\u2028a") for _ in range(rng.randrange(6)))
        shown = tables.spreadsheet_text(text)
        assert shown.isprintable()
        assert shown.lstrip()[:1] not in ("=", "+", "-", "@") or float(shown) is not None
        assert tables.spreadsheet_text(shown) == shown  # names that are read again and written again
