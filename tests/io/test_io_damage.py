"""Readers of files: damaged files of every format, and tables whose columns may mean several boxes."""

import importlib
import importlib.resources
import json
import random
import sys

import numpy as np
import pytest

import broadphase as bp
from broadphase import io, scenes
from cases import run_script
from mesh_files import BOX, BOX_FACES, Gltf, obj_of_box

WORDS = [
    ("{}min", "{}max"), ("{}_min", "{}_max"), ("min_{}", "max_{}"), ("lower_{}", "upper_{}"), ("{}_lo", "{}_hi"),
]  # fmt: skip
NUMBERS = [("{}0", "{}1"), ("{}1", "{}2")]


def header_of(rng):
    """Names of columns, of one style or several, and the columns of the corners if they can mean one box only."""
    styles = rng.sample([*WORDS, *NUMBERS], 2)
    axes = "xyzw"[: rng.randint(1, 4)]
    names = [[form.format(axis) for form in styles[0]] for axis in axes]
    fault = rng.choice(["none", "other axis", "second name", "twice", "both"])
    mixed = fault == "other axis" and len(axes) > 1
    if mixed:
        names[-1] = [form.format(axes[-1]) for form in styles[1]]
    corners = [name for side in (0, 1) for name in (pair[side] for pair in names)]
    header = [*corners, "weight", "x9"]
    axis = rng.choice(axes)
    other = [form.format(axis) for form in styles[1]]
    if fault == "second name" and styles[1] in WORDS:
        header.append(rng.choice(other))
    elif fault == "both":
        header += other
    elif fault == "twice":
        header.append(rng.choice(corners))
    rng.shuffle(header)
    header = [rng.choice([str, str.upper, str.title, "  {} ".format])(name) for name in header]
    plain = [name.strip().lower() for name in header]
    whole = len({*plain}) == len(plain) and not mixed
    extra = {*plain} - {*corners, "weight", "x9"}
    return header, [plain.index(name) for name in corners] if whole and not extra else None


def test_tables_whose_columns_mean_several_boxes_are_refused_and_others_read(tmp_path):
    rng = random.Random(3)
    read = refused = 0
    for _ in range(600):
        header, corners = header_of(rng)
        numbers = np.arange(2.0 * len(header)).reshape(2, -1)
        lines = [",".join(header), *(",".join(map(str, row)) for row in numbers)]
        path = tmp_path / "boxes.csv"
        path.write_text("\n".join(lines))
        if corners is None:
            with pytest.raises(bp.errors.FileFormatError) as raised:
                io.read_boxes(path)
            message = str(raised.value).lower()
            assert any(name.strip().lower() in message for name in header), (header, message)
            refused += 1
        else:
            assert np.array_equal(io.read_boxes(path).boxes.reshape(2, -1), numbers[:, corners]), header
            read += 1
    assert read > 100 < refused


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("xmin,xmax,y_min,y_max", "the corners have two names: columns xmin, xmax, and y_min, y_max"),
        ("xmin,x_min,xmax", "the corners have two names: columns xmin, xmax, and x_min"),
        ("xmin,XMIN,xmax", "several columns are xmin: 'xmin', 'XMIN'"),
        ("x0,x1,x2", "the corners have two names: columns x0, x1, and x2"),
        ("west,south,east,north,xmin,xmax", "two names: columns xmin, xmax, and west, south, east, north"),
        ("id,xmin,ID,xmax", "several columns are id: 'id', 'ID'; use name_column"),
    ],
)
def test_columns_that_mean_several_boxes_are_named(tmp_path, header, message):
    row = ",".join("0" for _ in header.split(","))
    (tmp_path / "a.csv").write_text(f"{header}\n{row}\n")
    with pytest.raises(bp.errors.FileFormatError, match=message):
        io.read_boxes(tmp_path / "a.csv")
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table([[0.0]] * len(row.split(",")), names=header.split(","))
    importlib.import_module("pyarrow.parquet").write_table(table, tmp_path / "a.parquet")
    with pytest.raises(bp.errors.FileFormatError, match=message):
        io.read_boxes(tmp_path / "a.parquet")


def test_arrays_and_struct_columns_that_mean_several_boxes_are_named(tmp_path):
    boxes = np.zeros((2, 4))
    np.savez(tmp_path / "a.npz", boxes=boxes, lower=boxes[:, :2], upper=boxes[:, 2:])
    with pytest.raises(bp.errors.FileFormatError, match="two names: arrays boxes, and lower and upper"):
        io.read_boxes(tmp_path / "a.npz")
    pyarrow = pytest.importorskip("pyarrow")
    struct = {"xmin": 0.0, "xmax": 1.0}
    for columns in ({"bbox": [struct], "other": [struct]}, {"bbox": [struct], "xmin": [0.0], "xmax": [1.0]}):
        importlib.import_module("pyarrow.parquet").write_table(pyarrow.table(columns), tmp_path / "a.parquet")
        with pytest.raises(bp.errors.FileFormatError, match="has several boxes: columns"):
            io.read_boxes(tmp_path / "a.parquet")


def nested(depth, kind):
    """A GeoJSON file with something nested so deeply."""
    if kind == "coordinates":
        return '{"type": "MultiPolygon", "coordinates": ' + "[" * depth + "]" * depth + "}"
    if kind == "collections":
        inner = '{"type": "Point", "coordinates": [1, 2]}'
        return '{"type": "GeometryCollection", "geometries": [' * depth + inner + "]}" * depth
    name = '{"a": ' * depth + "1" + "}" * depth
    return '{"type": "Feature", "geometry": null, "properties": {"name": ' + name + "}}"


@pytest.mark.parametrize("kind", ["coordinates", "collections", "name"])
def test_geojson_of_any_depth_is_read_or_refused_by_name(tmp_path, kind):
    for depth in (1, 2, 50, 300, 480, 900, 1000, 5000, 200_000):
        path = tmp_path / "deep.geojson"
        path.write_text(nested(depth, kind))
        message = ""
        try:
            boxes = io.read_boxes(path).boxes
        except bp.errors.FileFormatError as error:
            message = str(error)
        if message:
            assert message.startswith(f"{path}"), depth
            assert len(message) < len(str(path)) + 200
        else:
            assert kind != "collections" or boxes.tolist() == [[[1, 2], [1, 2]]]
            assert depth < 1000


@pytest.mark.parametrize(
    "number", ["1e999", "-1e999", "null", "true", '"1"', "[1]", "{}", "9" * 400, "9" * 5000, "NaN", "Infinity"]
)
@pytest.mark.parametrize("form", ["[%s, 0]", "[0, %s]", "[[0, 0], [1, %s], [2, 2]]", "[[0, 0], [%s, 2, 3]]"])
def test_geojson_numbers_that_are_none_name_file_and_row(tmp_path, number, form):
    geometry = "Point" if form.count("[") == 1 else "LineString"
    good = '{"type": "Feature", "geometry": {"type": "Point", "coordinates": [0, 0]}, "properties": null}'
    bad = good.replace('"Point", "coordinates": [0, 0]', f'"{geometry}", "coordinates": {form % number}')
    path = tmp_path / "a.geojson"
    path.write_text(f'{{"type": "FeatureCollection", "features": [{good}, {bad}]}}')
    with pytest.raises(bp.errors.FileFormatError, match=r"a\.geojson") as raised:
        io.read_boxes(path)
    if number not in ("NaN", "Infinity", "9" * 5000):  # refused while the file is parsed
        assert "row 1: coordinates must be lists of finite numbers" in str(raised.value)


@pytest.mark.parametrize("shape", [(10**12, 4), (10**6, 2, 2), (2**62, 4), (-1, 4), (3, -4)])
def test_arrays_larger_than_their_file_are_refused(tmp_path, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(96)
    (tmp_path / "a.npy").write_bytes(array)
    with importlib.import_module("zipfile").ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("boxes.npy", array)
    for path in (tmp_path / "a.npy", tmp_path / "a.npz"):
        with pytest.raises(bp.errors.FileFormatError, match=rf"{path.name}: not a readable"):
            io.read_boxes(path)


SCRIPT = """
import pathlib, random, resource, sys, warnings
import numpy as np
from broadphase import io, scenes
from test_io_damage import damaged
warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
rng = random.Random(SEED)
folder = pathlib.Path(FOLDER)
read = refused = 0
for source in sorted(folder.iterdir()):
    whole = source.read_bytes()
    for _ in range(ROUNDS):
        content = damaged(rng, whole)
        source.write_bytes(content)
        try:
            scenes.load(source) if source.suffix == ".toml" else io.read_boxes(source, parts=rng.random() < 0.5)
            read += 1
        except (ValueError, OSError) as error:
            assert str(source) in str(error), (content[:2000], error)
            assert len(str(error)) < len(str(source)) + 2000, content
            refused += 1
        except ImportError as error:
            assert str(source) in str(error), (content[:2000], error)
            refused += 1
        except BaseException as error:
            raise AssertionError((source.name, content[:2000])) from error
    source.write_bytes(whole)
print(read, refused)
"""


def damaged(rng, whole):
    """A file with some bytes changed, lost or doubled; or with other numbers and words where there were some."""
    content = bytearray(whole)
    for _ in range(rng.randint(1, 4)):
        place, length = rng.randrange(len(content) + 1), rng.choice([1, 1, 4, 8, 40, len(whole)])
        change = rng.randrange(6)
        if change == 0:
            content[place : place + length] = rng.randbytes(min(length, 64))
        elif change == 1:
            content[place : place + rng.randint(1, length)] = b""
        elif change == 2:
            content[place:place] = content[place : place + length] * rng.choice([1, 2, 50])
        elif change == 3:
            content[place : place + 4] = rng.choice([b"\xff" * 4, bytes(4), b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f"])
        elif change == 4:
            word = rng.choice([b"1e999", b"nan", b"-1", b"99999999999", b"null", b"[[[[", b"{", b'"', b"\n", b"true"])
            content[place : place + len(word)] = word
        else:
            words = [k for k in range(len(content)) if chr(content[k]).isdigit()]
            if words:
                at = rng.choice(words)
                content[at : at + 1] = rng.choice([b"999999999", b"-7", b"1e400", b"0", b"x"])
    return bytes(content)


def check_damage(folder, seed, rounds):
    """Damage small files of every format in a process of its own, with little memory."""
    rng = np.random.default_rng(0)
    boxes = np.sort(rng.random((3, 2, 2)), axis=1)
    np.save(folder / "a.npy", boxes)
    np.savez(folder / "a.npz", boxes=boxes, names=np.array(["a", "b", "c"]))
    np.savez_compressed(folder / "b.npz", lower=boxes[:, 0], upper=boxes[:, 1])
    (folder / "a.csv").write_text('name,xmin,xmax\n"a",0,1\nb,2,3\n')
    square = [[[0, 0], [1, 0], [1, 1]]]
    features = [
        {"type": "Feature", "geometry": {"type": kind, "coordinates": at}, "properties": {"name": "a"}}
        for kind, at in (("Point", [1, 2]), ("MultiPolygon", [square, square]), ("LineString", [[0, 1], [2, 3]]))
    ]
    (folder / "a.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    scene = importlib.resources.files("broadphase.data").joinpath("scenes", f"{scenes.NAMES[0]}.toml").read_bytes()
    (folder / "a.toml").write_bytes(scene)
    (folder / "b.obj").write_text("usemtl a\n" + obj_of_box("a", (0, 0, 0), 1) + "f -1 -2 -3 -4\nl 1 2 \\\n 3\n")
    made = Gltf()
    made.node(made.primitive(BOX, BOX_FACES), made.primitive(BOX, mode=5), name="a", translation=[1, 2, 3])
    (folder / "b.gltf").write_bytes(made.as_gltf())
    (folder / "b.glb").write_bytes(made.as_glb())
    facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    (folder / "b.stl").write_text(f"solid a\n{facet}endsolid a\nsolid b\n{facet}endsolid b\n")
    try:
        arrow, parquet = (importlib.import_module(name) for name in ("pyarrow", "pyarrow.parquet"))
        parquet.write_table(arrow.table({"xmin": [1.0, 2.0], "xmax": [3.0, 4.0]}), folder / "a.parquet")
        creation = importlib.import_module("trimesh.creation")
        for suffix in (".glb", ".ply", ".stl", ".obj"):
            creation.box().export(folder / f"a{suffix}")
    except ImportError:
        pass  # without the extra `io`
    script = SCRIPT.replace("SEED", str(seed)).replace("FOLDER", repr(str(folder))).replace("ROUNDS", str(rounds))
    found = run_script(f"import sys; sys.path += {sys.path!r}\n{script}", timeout=60 + rounds)
    return list(map(int, found.split()))


def test_damaged_files_of_every_format_are_read_or_refused_by_name_in_little_memory(tmp_path):
    read, refused = check_damage(tmp_path, 5, 100)
    assert read > 50 < refused
