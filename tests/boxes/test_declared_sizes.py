"""Files and snapshots that declare far more than they have: refused before memory is taken for it."""

import sys

import numpy as np
import pytest

import broadphase as bp
from broadphase import io, scenes
from broadphase.errors import FileFormatError
from cases import run_script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of addresses from /proc")

# Each file is read in one process: its addresses, touched or not, may not grow by more than this.
SCRIPT = """
import base64, io as stream, json, pathlib, re, struct, sys, warnings, zipfile
import numpy as np
import broadphase as bp
from broadphase import io, scenes

warnings.simplefilter("ignore")
folder = pathlib.Path(sys.argv[1])
MOST = 100 << 10


def peak():
    return int(re.search(r"VmPeak:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])


def array(shape, dtype="<f8", body=bytes(96)):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\\n"
    return b"\\x93NUMPY\\x01\\x00" + len(header).to_bytes(2, "little") + header.encode() + body


def archive(method, **members):
    content = stream.BytesIO()
    with zipfile.ZipFile(content, "w", method) as zipped:
        for name, member in members.items():
            zipped.writestr(f"{name}.npy", member)
    return content.getvalue()


def load(path):
    if path.suffix == ".toml":
        return scenes.load(path)
    if path.suffix == ".world":
        return bp.World.load(path)
    return io.read_boxes(path)


def check(name, content, good):
    (folder / "good").with_suffix(pathlib.Path(name).suffix).write_bytes(good)
    load((folder / "good").with_suffix(pathlib.Path(name).suffix))  # what libraries take when they are imported
    (folder / name).write_bytes(content)
    before = peak()
    try:
        load(folder / name)
    except ValueError as error:
        assert "more memory than there is" not in str(error), (name, error)
        refused = True
    else:
        refused = False
    assert peak() - before < MOST, (name, peak() - before)
    print(name, "refused" if refused else "read")


"""

ARRAYS = """
good, zipped = array((3, 4)), archive(zipfile.ZIP_STORED, boxes=array((3, 4)))
check("rows.npy", array((10**9, 4)), good)
check("item.npy", array((3, 4), "|V2000000000"), good)
check("nothing.npy", array((10**12, 4), "<U0"), good)
check("rows.npz", archive(zipfile.ZIP_STORED, boxes=array((10**9, 4))), zipped)
check("names.npz", archive(zipfile.ZIP_STORED, boxes=array((3, 4)), names=array((10**12,), "<U0")), zipped)
much = array((4 * 10**6, 4), body=bytes(128 * 10**6))
for name, method in (("bzip2.npz", zipfile.ZIP_BZIP2), ("lzma.npz", zipfile.ZIP_LZMA)):
    check(name, archive(method, boxes=much), zipped)
"""

MESHES = """
triangle = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0], "<f4").tobytes() + np.array([0, 1, 2], "<u2").tobytes() + bytes(2)


def tree():
    accessors = [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
                 {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"}]
    return {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}], "accessors": accessors,
            "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 6}],
            "buffers": [{"byteLength": 44}]}


def gltf(of):
    of["buffers"][0].setdefault("uri", "data:;base64," + base64.b64encode(triangle).decode())
    return json.dumps(of).encode()


def glb(of):
    text = json.dumps(of).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I", len(text)) + b"JSON" + text + struct.pack("<I", len(triangle)) + b"BIN\\0" + triangle
    return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks


def without_data(number):
    of = tree()
    del of["accessors"][number]["bufferView"]
    of["accessors"][number]["count"] = 10**9
    return of


def many_sparse():
    of = tree()
    sparse = {"count": 1, "indices": {"bufferView": 1, "componentType": 5123}, "values": {"bufferView": 0}}
    accessor = {"componentType": 5126, "count": 10**5, "type": "VEC3", "sparse": sparse}
    of["accessors"] += [accessor] * 1000
    of["meshes"] = [{"primitives": [{"attributes": {"POSITION": 2 + k}} for k in range(1000)]}]
    return of


def shared(primitives, meshes):
    of = tree()
    of["accessors"][1] |= {"count": 3000, "bufferView": 2}
    of["bufferViews"].append({"buffer": 1, "byteLength": 6000})
    of["buffers"].append({"byteLength": 6000, "uri": "data:;base64," + base64.b64encode(bytes(6000)).decode()})
    of["meshes"] = [{"primitives": of["meshes"][0]["primitives"] * primitives}] * meshes
    of["nodes"] = [{"mesh": k} for k in range(meshes)]
    of["scenes"] = [{"nodes": list(range(meshes))}]
    return of


def instances():
    of = tree()
    of["nodes"] = [{"mesh": 0, "extensions": {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": 2}}}}] * 600
    of["accessors"].append({"bufferView": 2, "componentType": 5126, "count": 3000, "type": "VEC3"})
    of["bufferViews"].append({"buffer": 1, "byteLength": 36000})
    of["buffers"].append({"byteLength": 36000, "uri": "data:;base64," + base64.b64encode(bytes(36000)).decode()})
    of["scenes"] = [{"nodes": list(range(600))}]
    return of


def changed(kind, key, value):
    of = tree()
    of[kind][0][key] = value
    return of


for make, suffix in ((gltf, "gltf"), (glb, "glb")):
    for number in (0, 1):
        check(f"without_data_{number}.{suffix}", make(without_data(number)), make(tree()))
    check(f"many_sparse.{suffix}", make(many_sparse()), make(tree()))
    check(f"shared.{suffix}", make(shared(1000, 20)), make(tree()))
    check(f"instances.{suffix}", make(instances()), make(tree()))
    for kind, key in (("accessors", "count"), ("bufferViews", "byteLength"), ("buffers", "byteLength")):
        check(f"{kind}_{key}.{suffix}", make(changed(kind, key, 10**10)), make(tree()))
check("few.glb", glb(shared(2, 2)), glb(tree()))
check("chunk.glb", glb(tree())[:12] + struct.pack("<I", 2**32 - 1) + b"JSON{}", glb(tree()))
stl = bytes(80) + struct.pack("<I", 1) + struct.pack("<12f", 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0) + bytes(2)
for count in (10**6, 2**32 - 1):
    check(f"{count}.stl", stl[:80] + struct.pack("<I", count) + stl[84:], stl)
header = "ply\\nformat {} 1.0\\nelement vertex {}\\nproperty float x\\nproperty float y\\nproperty float z\\n"
header += "element face {}\\nproperty list uchar int vertex_indices\\nend_header\\n"
binary = triangle[:36] + b"\\3" + struct.pack("<3i", 0, 1, 2)
text = b"0 0 0\\n1 0 0\\n0 1 0\\n3 0 1 2\\n"
for form, body in (("binary_little_endian", binary), ("ascii", text)):
    whole = header.format(form, 3, 1).encode() + body
    for count in (10**9, 10**12):
        check(f"{form}_vertices_{count}.ply", header.format(form, count, 1).encode() + body, whole)
        check(f"{form}_faces_{count}.ply", header.format(form, 3, count).encode() + body, whole)
"""

SNAPSHOTS = """
import hashlib
world = bp.World(dim=2)
world.add(bp.Circle(1), position=(0, 0))
world.step(0.1)
whole = world.to_bytes()


def forged(old, new):
    length = int.from_bytes(whole[12:16], "little")
    header = whole[56 : 56 + length]
    assert old in header
    header = header.replace(old, new)
    body = header + bytes(-(56 + len(header)) % 8) + whole[56 + length + -(56 + length) % 8 :]
    head = whole[:12] + struct.pack("<IQ", len(header), 56 + len(body))
    return head + hashlib.sha256(head + body).digest() + body


check("slots.world", forged(b'"slots":1,', b'"slots":2000000000,'), whole)
for shape in (b"[1000000000]", b"[1099511627776]", b"[0,1099511627776]"):
    check(f"{len(shape)}.world", forged(b'"alive","|b1",[1]', b'"alive","|b1",' + shape), whole)
"""

TABLES = """
import pyarrow, pyarrow.parquet
content = stream.BytesIO()
pyarrow.parquet.write_table(pyarrow.table({"xmin": [1.0, 2.0], "xmax": [3.0, 4.0]}), content, compression="none")
whole = content.getvalue()
# Sizes are variable-length integers in Thrift's compact form: any two bytes may be the last ones of one.
for place in range(4, len(whole) - 12, 7):
    content = bytearray(whole)
    content[place : place + 5] = b"\\xfe\\xff\\xff\\xff\\x0f"
    (folder / "a.parquet").write_bytes(content)
    before = peak()
    try:
        io.read_boxes(folder / "a.parquet")
    except ValueError:
        pass
    assert peak() - before < 4 * MOST, (place, peak() - before)
print("a.parquet refused")
"""


@pytest.mark.parametrize(
    ("script", "needs"),
    [(ARRAYS, "numpy"), (MESHES, "trimesh"), (SNAPSHOTS, "numpy"), (TABLES, "pyarrow")],
    ids=["arrays", "meshes", "snapshots", "tables"],
)
def test_files_that_declare_more_than_they_have_take_no_memory(tmp_path, script, needs):
    pytest.importorskip(needs)
    found = run_script(f"import sys; sys.argv[1:] = [{str(tmp_path)!r}]\n{SCRIPT}{script}").splitlines()
    read = {line.split()[0] for line in found if line.endswith("read")}
    # Of these, what is declared beyond the end of the data is of no consequence.
    harmless = {"few.glb", "buffers_byteLength.gltf", "buffers_byteLength.glb", "ascii_faces_1000000000.ply"}
    assert read <= {*harmless, "ascii_faces_1000000000000.ply"}
    assert len(found) > len(read)


@pytest.mark.parametrize("key", ["count = 20_000_000", "count = 2_147_483_647", "rule", "clusters", "sum"])
def test_scene_files_of_more_bodies_than_the_limit_are_refused(tmp_path, key):
    place = '{how = "clusters", clusters = 99_000_000, spread = 1}' if key == "clusters" else '{how = "uniform"}'
    count = key if key.startswith("count") else "count = 4_000_000"
    group = f'[[group]]\nname = "NAME"\n{count}\nshape = {{type = "circle", radius = 1}}\nplace = {place}\n'
    names = ("a", "b", "c") if key == "sum" else ("a",)
    rule = '[[rule]]\nemit = "a"\ncount = 10_000_001\n' if key == "rule" else ""
    path = tmp_path / "a.toml"
    path.write_text(
        "[world]\ndim = 2\nbounds = [[0, 0], [9, 9]]\n" + "".join(group.replace("NAME", name) for name in names) + rule
    )
    with pytest.raises(FileFormatError, match=r"10,?000,?000"):
        scenes.load(path)


def test_rules_for_groups_of_a_scene_without_any_are_refused(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('[world]\ndim = 2\n[[rule]]\nemit = "bullets"\n')
    with pytest.raises(FileFormatError, match="bullets"):
        scenes.load(path)
    path.write_text('[world]\ndim = 2\n[[rule]]\nremove = "bullets"\ntouching = "walls"\n')
    with pytest.raises(FileFormatError, match="bullets"):
        scenes.load(path)


PLY = """ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
element face 1
property list uchar int vertex_indices
end_header
0 0 0
1 0 0
0 1 {}
3 0 1 {}
"""


@pytest.mark.parametrize(("last", "corner"), [("0", "3"), ("0", "-1"), ("nan", "2"), ("inf", "2")])
def test_parts_with_vertices_that_do_not_exist_or_are_not_finite_are_refused(tmp_path, last, corner):
    pytest.importorskip("trimesh")
    path = tmp_path / "a.ply"
    path.write_text(PLY.format(last, corner))
    with pytest.raises(FileFormatError, match="vertex"):
        io.read_parts(path)
    path.write_text(PLY.format("0", "2"))
    assert len(io.read_parts(path).parts[0].faces) == 1


def test_features_cut_off_are_refused_by_name(tmp_path):
    pyogrio = pytest.importorskip("pyogrio")
    shapely = pytest.importorskip("shapely")
    whole = tmp_path / "whole.fgb"
    shapes = shapely.to_wkb(np.array([shapely.box(k, k, k + 1, k + 1) for k in range(20)], object))
    pyogrio.raw.write(
        whole, shapes, [np.array(["a"] * 20, object)], np.array(["name"], object),
        geometry_type="Polygon", crs="EPSG:4326", driver="FlatGeobuf",
    )  # fmt: skip
    content = whole.read_bytes()
    refused = 0
    for size in range(0, len(content), 97):
        path = tmp_path / "cut.fgb"
        path.write_bytes(content[:size])
        for parts in (False, True):
            message = ""
            try:
                io.read_boxes(path, parts=parts)
            except bp.errors.FileFormatError as error:
                message = str(error)
                refused += 1
            assert not message or str(path) in message
    assert refused > 20
