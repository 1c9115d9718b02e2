"""The rows of shapes: each kind has one in every place that needs it, and they agree."""

import re
from pathlib import Path

import numpy as np
import pytest

import broadphase as bp
import oracles.shapes
import shape_cases
from broadphase.plotting.pieces import PieceCollection
from broadphase.scenes.groups import SCENE_TYPES
from broadphase.shapes.kinds import RECORDS, RecordRow, ShapeKind, layout_of
from broadphase.shapes.records import Geometries, shape_from_record
from broadphase.shapes.registry import TYPES

ROOT = Path(__file__).resolve().parents[2]
HEADER = (ROOT / "core/shapes/shape.hpp").read_text("utf-8")
SIMPLE = [row for row in TYPES if row.make is not None]
KINDS = [kind for kind in ShapeKind if kind != ShapeKind.CUSTOM]  # a base of types of users
each_kind = pytest.mark.parametrize("kind", ShapeKind, ids=lambda kind: kind.name)
each_type = pytest.mark.parametrize("row", TYPES, ids=lambda row: row.name)
each_simple_type = pytest.mark.parametrize(
    ("row", "d"), [(row, d) for row in SIMPLE for d in row.dimensions], ids=lambda one: getattr(one, "name", str(one))
)


def name_in_core(kind):
    return f"k{kind.name.title().replace('_', '')}"


def core_rows():
    """The rows of the core's table, by name of the kind: what each says that is not the default."""
    rows = re.findall(r"ShapeTraits\{\s*\.kind = ShapeKind::(k\w+)((?:,\s*\.\w+ = [\w:]+)*)\}", HEADER)
    return {name: dict(re.findall(r"\.(\w+) = ([\w:]+)", fields)) for name, fields in rows}


def classes_of(kind):
    return [row for row in TYPES if row.shape_class.kind == kind]


def test_the_core_has_a_row_for_each_of_its_kinds():
    body = re.search(r"enum class ShapeKind[^{]*\{(.*?)\};", HEADER, re.DOTALL)[1]
    kinds = re.findall(r"^  (k\w+),", body, re.MULTILINE)
    assert kinds == [name_in_core(kind) for kind in ShapeKind]
    assert list(core_rows()) == kinds


@each_kind
def test_the_row_of_a_kind_is_that_of_the_core(kind):
    assert kind in RECORDS, f"shapes/kinds.py: RECORDS has no row for {kind.name}"
    theirs = core_rows()[name_in_core(kind)]
    dimensions = tuple(d for d, where in ((2, "in_plane"), (3, "in_space")) if theirs.pop(where, "true") == "true")
    is_curved = theirs.pop("core", None) == "CoreForm::kCurved"
    values = {name: int(text) if text.isdigit() else text == "true" for name, text in theirs.items()}
    assert RecordRow(dimensions, **values, is_curved=is_curved) == RECORDS[kind]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_has_a_class_in_each_of_its_dimensions(kind):
    rows = classes_of(kind)
    assert rows, f"shapes/registry.py: TYPES has no row for {kind.name}"
    assert sorted(d for row in rows for d in row.dimensions) == list(RECORDS[kind].dimensions), kind.name


@each_type
def test_a_type_is_public_and_has_its_documentation(row):
    assert getattr(bp, row.name, None) is row.shape_class, f"broadphase/__init__.py does not have {row.name}"
    table = (ROOT / "docs/shapes.md").read_text("utf-8")
    assert re.search(rf"^\| `{row.name}\(", table, re.MULTILINE), f"docs/shapes.md: no row for {row.name}"
    reference = (ROOT / "docs/api/shapes.rst").read_text("utf-8")
    assert re.search(rf"^   {row.name}$", reference, re.MULTILINE), f"docs/api/shapes.rst: no {row.name}"


@each_type
def test_a_type_has_samples_and_an_oracle_for_the_tests(row):
    assert row.name in shape_cases.ARGUMENTS, f"tests/support/shape_cases.py: ARGUMENTS has no {row.name}"
    record = RECORDS[row.shape_class.kind]
    without = row.name in ("Compound", "Mesh", "HeightField") or record.is_curved or record.has_normal
    assert without or row.name in oracles.shapes.OWN_POINTS, f"tests/oracles/shapes.py: OWN_POINTS has no {row.name}"


@each_type
def test_a_type_with_a_record_of_its_own_has_a_maker_a_picture_and_keys(row):
    record = RECORDS[row.shape_class.kind]
    needs = not record.has_parts and not record.is_kept_elsewhere
    for what in ("make", "picture", "keys"):
        expected = needs or (row.name in ("HeightField", "PointCloud") and what == "keys")
        assert (getattr(row, what) is not None) == expected, f"shapes/registry.py: the row of {row.name} lacks {what}"


@each_simple_type
def test_a_record_makes_the_shape_that_it_was_made_from(row, d):
    shape = shape_cases.shape_of(row.name, shape_cases.Numbers(np.random.default_rng(3), d))
    record = shape.records(d)[0]
    made = shape_from_record(shape.kind, record, d, Geometries())
    assert type(made) is row.shape_class
    assert np.allclose(made.records(d)[0], record, rtol=0, atol=1e-12)
    lengths = record[layout_of(shape.kind, d, len(record)).lengths]
    fixed = RECORDS[shape.kind].lengths + RECORDS[shape.kind].has_halves * d
    assert len(lengths) == fixed
    assert (lengths >= 0).all()


@each_simple_type
def test_a_picture_is_within_the_box_of_its_shape(row, d):
    shape = shape_cases.shape_of(row.name, shape_cases.Numbers(np.random.default_rng(4), d))
    shapes, rows = bp.Shapes(shape, np.zeros((1, d))), np.zeros(1, np.int32)
    collection = PieceCollection(d)
    collection.add(shapes, rows, rows)
    pieces = collection.pieces()
    corners = np.concatenate([pieces.vertices(form, which).reshape(-1, d) for form, which in pieces.by_form()])
    lower, upper = shapes.boxes[0]
    assert len(corners)
    if RECORDS[shape.kind].has_normal:  # as much as there is to see
        picture = pieces.spread(np.stack([np.full(d, -5.0), np.full(d, 5.0)]))
        corners = np.concatenate([picture.vertices(form, which).reshape(-1, d) for form, which in picture.by_form()])
        assert max(bp.distance(shape, bp.Point(offset=corner)) for corner in corners) <= 1e-9
        assert (np.ptp(corners, axis=0).max() > 10) & (np.abs(corners).max() < 50)
        return
    assert (corners >= lower - 1e-9).all()
    assert (corners <= upper + 1e-9).all()
    assert np.allclose(corners.max(axis=0) - corners.min(axis=0), upper - lower, rtol=0.05, atol=1e-9)


@each_simple_type
def test_a_snapshot_keeps_a_shape(row, d):
    shape = shape_cases.shape_of(row.name, shape_cases.Numbers(np.random.default_rng(5), d))
    world = bp.World(d)
    world.add(shape, position=[0.0] * d)
    again = bp.World.from_bytes(world.to_bytes())
    assert np.array_equal(again.shapes.records().numbers, world.shapes.records().numbers)


@each_simple_type
def test_keys_of_scene_files_are_arguments_of_the_class(row, d):
    arguments = shape_cases.ARGUMENTS[row.name](shape_cases.Numbers(np.random.default_rng(6), d))
    placing = {"offset", "rotation"} if row.rotates else {"offset"}
    assert set(arguments) == set(row.keys) | placing
    assert SCENE_TYPES[row.scene_name] is row
