"""Parts of STEP files: the shapes of an assembly at each of their places, by name."""

import sys

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import read_boxes, read_parts
from step_files import Step


@pytest.fixture
def machine(tmp_path):
    """A plate, and two pairs of bolts of one shape through it; in millimetres."""
    made = Step()
    plate, bolt = made.box("plate", (100, 50, 10)), made.box("bolt", (5, 5, 30))
    pair = made.assembly("pair", [("bolt A", bolt, (10, 10, -10)), ("bolt B", bolt, (50, 10, -10))])
    made.assembly("machine", [("base", plate, (0, 0, 0)), ("left", pair, (0, 0, 0)), ("right", pair, (0, 20, 0))])
    path = tmp_path / "machine.step"
    path.write_text(made.text())
    return path


def test_parts_are_the_places_of_the_assembly_by_name(machine):
    pytest.importorskip("cascadio")
    file = read_parts(machine)
    assert (file.unit, file.part_type) == ("m", "node")
    assert [(part.name, part.parent) for part in file.parts] == [
        ("base", "machine"), ("bolt A", "left"), ("bolt B", "left"), ("bolt A (2)", "right"), ("bolt B (2)", "right")
    ]  # fmt: skip
    corners = [[part.placed_vertices().min(axis=0), part.placed_vertices().max(axis=0)] for part in file.parts]
    expected = [[[0, 0, 0], [100, 50, 10]]] + [
        [[x, y, -10], [x + 5, y + 5, 20]] for x, y in ((10, 10), (50, 10), (10, 30), (50, 30))
    ]
    np.testing.assert_allclose(corners, np.array(expected) / 1000, atol=1e-8)
    assert all(bp.Mesh(part.vertices, part.faces).is_watertight for part in file.parts)
    assert file.parts[1].vertices is file.parts[4].vertices
    assert bp.clashes(file.parts).pairs.tolist() == [[0, row] for row in (1, 2, 3, 4)]
    assert [part.name for part in read_parts(machine, parts="mesh").parts] == ["plate", "bolt"]
    assert len(read_parts(machine, parts="connected").parts) == 5
    assert read_boxes(machine, parts="mesh").boxes.shape == (2, 2, 3)


def test_file_that_is_no_step_file_is_refused_by_name(tmp_path):
    (tmp_path / "a.stp").write_text("solid\n")
    with pytest.raises(bp.errors.FileFormatError, match=r"a\.stp: not a STEP file"):
        read_parts(tmp_path / "a.stp")
    pytest.importorskip("cascadio")
    (tmp_path / "a.stp").write_text("ISO-10303-21;\nHEADER;\n")
    with pytest.raises(bp.errors.FileFormatError, match=r"a\.stp: not a readable STEP file"):
        read_parts(tmp_path / "a.stp")


def test_missing_library_names_the_installation(machine, monkeypatch):
    monkeypatch.setitem(sys.modules, "cascadio", None)
    with pytest.raises(
        bp.errors.MissingExtraError, match=r'machine\.step: .*cascadio: pip install "broadphase\[step\]"'
    ):
        read_parts(machine)
