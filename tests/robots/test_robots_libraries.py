"""Robots of URDF and MJCF files, judged by yourdfpy, MuJoCo and FCL on the models as they read them."""

import os
import sys

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import FileFormatError, MissingExtraError
from mesh_files import BOX, BOX_FACES, Gltf

CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


def matrices_of(rotations):
    """Of unit quaternions, (n, 3, 3)."""
    w, x, y, z = np.moveaxis(np.asarray(rotations, float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def margin(robot, row, obstacles=None):
    """How far a configuration is from the other answer: the least absolute distance of a pair that is compared."""
    placed = robot.placed(row)
    found = [bp.distance(placed, pairs=robot.pairs)]
    if obstacles is not None:
        every = np.stack(np.meshgrid(np.arange(len(placed)), np.arange(len(obstacles)), indexing="ij"), axis=-1)
        found.append(bp.distance(placed, obstacles, pairs=every.reshape(-1, 2)))
    distances = np.concatenate(found)
    hits = distances <= 0
    return np.abs(distances[hits]).max() if hits.any() else distances.min(initial=np.inf)


# ---- URDF ----

URDF = """<robot name="gripper">
  <link name="world"/>
  <link name="base"><collision><origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/><geometry><box size="0.4 0.3 0.2"/></geometry>
    </collision><visual><geometry><sphere radius="9"/></geometry></visual></link>
  <link name="arm"><collision><origin xyz="0 0 0.5"/><geometry><cylinder radius="0.1" length="1"/></geometry>
    </collision>
    <collision><origin xyz="0 0 1"/><geometry><sphere radius="0.15"/></geometry></collision></link>
  <link name="wrist"/>
  <link name="left"><collision><geometry><mesh filename="finger.stl" scale="0.5 1 2"/></geometry></collision></link>
  <link name="right"><collision><geometry><mesh filename="package://gripper/finger.stl"/></geometry></collision></link>
  <joint name="weld" type="fixed"><parent link="world"/><child link="base"/><origin xyz="1 2 3"/></joint>
  <joint name="swing" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 0.2" rpy="0.3 -0.4 0.5"/>
    <axis xyz="0 1 1"/><limit lower="-1.5" upper="2" effort="1" velocity="1"/></joint>
  <joint name="spin" type="continuous"><parent link="arm"/><child link="wrist"/><origin xyz="0 0 1.1"/></joint>
  <joint name="grip" type="prismatic"><parent link="wrist"/><child link="left"/><origin xyz="0 0.3 0"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.4" effort="1" velocity="1"/></joint>
  <joint name="follow" type="prismatic"><parent link="wrist"/><child link="right"/><origin xyz="0 -0.3 0"/>
    <axis xyz="0 1 0"/><limit lower="-0.4" upper="0" effort="1" velocity="1"/>
    <mimic joint="grip" multiplier="-1.5" offset="0.1"/></joint>
</robot>"""


@pytest.fixture
def urdf(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((0.2, 0.1, 0.4)).export(tmp_path / "finger.stl")
    path = tmp_path / "gripper.urdf"
    path.write_text(URDF, "utf-8")
    return path


@pytest.mark.filterwarnings("ignore")
def test_urdf_has_the_poses_of_yourdfpy(urdf):
    yourdfpy = pytest.importorskip("yourdfpy")
    robot, theirs = bp.Articulated.from_urdf(urdf), yourdfpy.URDF.load(str(urdf), load_meshes=False)
    assert robot.joint_names == tuple(theirs.actuated_joint_names) == ("swing", "spin", "grip")
    assert robot.limits.tolist() == [[-1.5, 2], [-np.inf, np.inf], [0, 0.4]]
    assert [link.name for link in robot.links] == ["world", "base", "arm", "wrist", "left", "right"]
    q = np.random.default_rng(0).uniform(-2, 2, (20, 3))
    positions, rotations = robot.poses(q)
    for row in range(len(q)):
        theirs.update_cfg(q[row])
        for k, link in enumerate(robot.links):
            frame = theirs.get_transform(link.name, "world")
            np.testing.assert_allclose(positions[row, k], frame[:3, 3], atol=1e-12)
            np.testing.assert_allclose(matrices_of(rotations[row, k]), frame[:3, :3], atol=1e-12)


def random_urdf(random, count):
    """A tree of links, with its elements in any order."""

    def numbers(values):
        return " ".join(repr(float(value)) for value in values)

    elements = [f'<link name="l{k}"/>' for k in range(count)]
    for k in range(1, count):
        kind = ("fixed", "revolute", "continuous", "prismatic")[random.integers(4)]
        axis = random.normal(size=3)
        inside = [
            f'<parent link="l{random.integers(k)}"/>',
            f'<child link="l{k}"/>',
            f'<axis xyz="{numbers(axis / np.linalg.norm(axis))}"/>' if random.random() < 0.8 else "",
            '<limit lower="-1" upper="1" effort="1" velocity="1"/>' if kind in ("revolute", "prismatic") else "",
            f'<origin xyz="{numbers(random.normal(size=3))}" rpy="{numbers(random.uniform(-4, 4, 3))}"/>'
            if random.random() < 0.8
            else "",
            '<mimic joint="j0" multiplier="-0.5" offset="0.2"/>' if kind != "fixed" and random.random() < 0.3 else "",
        ]
        random.shuffle(inside)
        elements.append(f'<joint name="j{k}" type="{kind}">{"".join(inside)}</joint>')
    elements.append('<link name="first"/>')
    elements.append('<joint name="j0" type="revolute"><parent link="first"/><child link="l0"/></joint>')
    random.shuffle(elements)
    return f'<robot name="r">{"".join(elements)}</robot>'


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(15))
def test_urdf_of_random_trees_has_the_poses_of_yourdfpy(tmp_path, seed):
    yourdfpy = pytest.importorskip("yourdfpy")
    random = np.random.default_rng(seed)
    path = tmp_path / "random.urdf"
    path.write_text(random_urdf(random, int(random.integers(1, 9))), "utf-8")
    theirs = yourdfpy.URDF.load(str(path), load_meshes=False)
    robots = [bp.Articulated.from_urdf(source) for source in (path, theirs)]
    q = random.uniform(-3, 3, (5, theirs.num_actuated_joints))
    for robot in robots:
        assert robot.joint_names == tuple(theirs.actuated_joint_names)
        positions, rotations = robot.poses(q)
        for row in range(len(q)):
            theirs.update_cfg(q[row])
            for k, link in enumerate(robot.links):
                frame = theirs.get_transform(link.name, "first")
                np.testing.assert_allclose(positions[row, k], frame[:3, 3], atol=1e-12)
                np.testing.assert_allclose(matrices_of(rotations[row, k]), frame[:3, :3], atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("axis", [0, np.nan, 0], "joint 'swing': xyz of <axis> must be 3 numbers, not '0.0 nan 0.0'"),
        ("axis", object(), "joint 'swing': xyz of <axis> must be 3 numbers, not '<object"),
        ("origin", np.eye(3), "joint 'swing': 4x4 of <origin> must be 16 numbers"),
        ("parent", "nobody", "joint 'swing': <parent>: there is no link 'nobody'"),
        ("child", None, "joint 'swing': <child> has no link"),
        ("type", "planar", "joint 'swing' is planar"),
    ],
)
def test_damage_in_what_yourdfpy_has_read_is_named(urdf, name, value, message):
    yourdfpy = pytest.importorskip("yourdfpy")
    theirs = yourdfpy.URDF.load(str(urdf), load_meshes=False)
    joint = next(one for one in theirs.robot.joints if one.name == "swing")
    setattr(joint, name, value)
    with pytest.raises(ValueError, match=f"^{message}"):
        bp.Articulated.from_urdf(theirs)


@pytest.mark.filterwarnings("ignore")
def test_urdf_has_the_collision_geometries(urdf):
    yourdfpy = pytest.importorskip("yourdfpy")
    robot = bp.Articulated.from_urdf(yourdfpy.URDF.load(str(urdf), load_meshes=False))
    shapes = {link.name: list(link.shapes) for link in robot.links}
    assert [len(shapes[name]) for name in ("world", "base", "arm", "wrist", "left", "right")] == [0, 1, 2, 0, 1, 1]
    assert [type(one).__name__ for name in ("base", "arm", "left") for one in shapes[name]] == [
        "Box", "Cylinder", "Sphere", "Mesh",
    ]  # fmt: skip
    assert (shapes["base"][0].x, shapes["base"][0].y, shapes["base"][0].z) == (0.4, 0.3, 0.2)
    ends = [end + shapes["arm"][0].offset for end in (shapes["arm"][0].start, shapes["arm"][0].end)]
    assert (shapes["arm"][0].radius, np.stack(ends).tolist()) == (0.1, [[0, 0, 0], [0, 0, 1]])
    for name, size in (("left", (0.1, 0.1, 0.8)), ("right", (0.2, 0.1, 0.4))):
        np.testing.assert_allclose(np.ptp(shapes[name][0].vertices, axis=0), size, atol=1e-6)
    hulls = bp.Articulated.from_urdf(urdf, hulls=True, allowed=[("left", "right")])
    assert [type(one).__name__ for link in hulls.links for one in link.shapes].count("ConvexHull") == 2
    # base and arm, arm and the fingers over the wrist without shapes: neighbors.
    owners = [robot.links[k].name for k in robot.part_links]
    assert {frozenset((owners[i], owners[j])) for i, j in robot.pairs} == {
        frozenset(pair) for pair in (("base", "left"), ("base", "right"), ("left", "right"))
    }
    assert len(hulls.pairs) == len(robot.pairs) - 1


@pytest.mark.filterwarnings("ignore")
def test_urdf_that_has_no_robot_here_is_refused(urdf, tmp_path):
    yourdfpy = pytest.importorskip("yourdfpy")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        bp.Articulated.from_urdf(tmp_path / "no.urdf")
    with pytest.raises(TypeError, match=r"source must be a path or a yourdfpy\.URDF"):
        bp.Articulated.from_urdf(3)
    (urdf.parent / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 3 4\n", "utf-8")
    urdf.write_text(URDF.replace("finger.stl", "flat.obj"), "utf-8")
    assert len(bp.Articulated.from_urdf(urdf).part_links) == 5
    with pytest.raises(ValueError, match=r"link 'left': the mesh 'flat\.obj': points lie in one plane"):
        bp.Articulated.from_urdf(urdf, hulls=True)
    urdf.write_text(URDF.replace("finger.stl", "thumb.stl"), "utf-8")
    message = r"link 'left': the mesh 'thumb\.stl': there is no such file beside .*gripper\.urdf"
    with pytest.raises(FileNotFoundError, match=message):
        bp.Articulated.from_urdf(urdf)
    with pytest.raises(FileNotFoundError, match=r"link 'left': the mesh 'thumb\.stl': there is no such file"):
        bp.Articulated.from_urdf(yourdfpy.URDF.load(str(urdf), load_meshes=False))
    urdf.write_text(URDF.replace("finger.stl", "thumb.glb"), "utf-8")
    (urdf.parent / "thumb.glb").write_bytes(b"glTF" + bytes(100))
    with pytest.raises(
        bp.errors.FileFormatError,
        match=r"gripper\.urdf: line \d+: link 'left': the mesh 'thumb\.glb': binary glTF of version 0",
    ):
        bp.Articulated.from_urdf(urdf)


LINK = '<link name="{}"><collision><geometry>{}</geometry></collision></link>'
BALL = '<sphere radius="0.1"/>'
TURN = '<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/><axis xyz="0 0 1"/>{}</joint>'
LIMIT = '<limit lower="{}" upper="{}" effort="1" velocity="1"/>'


def robot_of(tmp_path, *inside, head='<robot name="r">'):
    path = tmp_path / "robot.urdf"
    path.write_text(f"{head}{''.join(inside)}</robot>", "utf-8")
    return bp.Articulated.from_urdf(path)


def balls(names):
    return "".join(LINK.format(name, BALL) for name in names)


def test_urdf_neighbors_may_touch_unless_told_otherwise(tmp_path):
    path = tmp_path / "chain.urdf"
    ball = '<link name="{}"><collision><geometry><sphere radius="1"/></geometry></collision></link>'
    hinge = (
        '<joint name="{0}{1}" type="continuous"><parent link="{0}"/><child link="{1}"/><axis xyz="0 0 1"/>'
        '<origin xyz="1.5 0 0"/></joint>'
    )
    path.write_text(
        f'<robot name="r">{"".join(map(ball.format, "abc"))}{hinge.format("a", "b")}{hinge.format("b", "c")}</robot>'
    )
    assert bp.Articulated.from_urdf(path).pairs.tolist() == [[0, 2]]
    every = bp.Articulated.from_urdf(path, neighbors=False)
    assert sorted(every.pairs.tolist()) == [[0, 1], [0, 2], [1, 2]]
    assert [bp.Articulated.from_urdf(path, neighbors=flag).collides([0, 0]) for flag in (True, False)] == [False, True]
    some = bp.Articulated.from_urdf(path, neighbors=False, allowed=[("a", "b")])
    assert sorted(some.pairs.tolist()) == [[0, 2], [1, 2]]
    with pytest.raises(TypeError, match="neighbors must be True or False, not 'no'"):
        bp.Articulated.from_urdf(path, neighbors="no")


def test_urdf_mimics_of_mimics_follow_the_first_joint(tmp_path):
    mimic = '<mimic joint="{}" multiplier="{}" offset="{}"/>'
    robot = robot_of(
        tmp_path,
        balls("abcd"),
        TURN.format("3", "c", "d", mimic.format("2", 0.9, -0.2)),
        TURN.format("2", "b", "c", mimic.format("1", -0.8, 0.1)),
        TURN.format("1", "a", "b", LIMIT.format(0, 1)),
    )
    assert robot.joint_names == ("1",)
    names = [link.name for link in robot.links]
    for value in (0.0, 0.7, -2.0):
        second = -0.8 * value + 0.1
        third = 0.9 * second - 0.2
        rotations = matrices_of(robot.poses([value]).rotations)
        for name, angle in (("b", value), ("c", value + second), ("d", value + second + third)):
            wanted = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            np.testing.assert_allclose(rotations[names.index(name), :2, :2], wanted, atol=1e-14)


def test_urdf_limits_in_reverse_order_are_put_in_order(tmp_path):
    yourdfpy = pytest.importorskip("yourdfpy")
    robot = robot_of(tmp_path, balls("ab"), TURN.format("1", "a", "b", LIMIT.format(1, -2)))
    assert robot.limits.tolist() == [[-2, 1]]
    theirs = yourdfpy.URDF.load(str(tmp_path / "robot.urdf"), load_meshes=False)
    assert bp.Articulated.from_urdf(theirs).limits.tolist() == [[-2, 1]]


def test_urdf_robots_without_a_name_and_floating_joints_are_read(tmp_path):
    assert repr(robot_of(tmp_path, balls("a"), head="<robot>")) == "<a robot of 1 link, 1 shape and 0 joints>"
    joint = TURN.format("fly", "a", "b", '<origin xyz="0 0 2" rpy="0 0 1.5707963267948966"/>')
    robot = robot_of(tmp_path, balls("ab"), joint.replace("revolute", "floating"))
    assert robot.joint_names[:4] == ("fly.x", "fly.y", "fly.z", "fly.qw")
    np.testing.assert_allclose(robot.poses([1, 0, 0, 1, 0, 0, 0]).positions[1], [0, 1, 2], atol=1e-15)


def test_urdf_meshes_of_packages_are_those_of_the_named_package(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    for package, size in (("arm", 1.0), ("gripper", 3.0)):
        (tmp_path / package / "meshes").mkdir(parents=True)
        trimesh.creation.box((size, size, size)).export(tmp_path / package / "meshes" / "base.stl")
    (tmp_path / "arm" / "urdf").mkdir()
    for name, size in (("package://arm/meshes/base.stl", 1), ("package://gripper/meshes/base.stl", 3),
                       ("model://other/meshes/base.stl", 1), ("../meshes/base.stl", 1),
                       (f"file://{tmp_path}/gripper/meshes/base.stl", 3)):  # fmt: skip
        robot = robot_of(tmp_path / "arm" / "urdf", LINK.format("a", f'<mesh filename="{name}"/>'))
        assert np.ptp(robot.links[0].shapes[0].vertices, axis=0).tolist() == [size] * 3


BOMB = "<!DOCTYPE robot [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
    f"<!ENTITY {chr(98 + k)} '{f'&{chr(97 + k)};' * 10}'>" for k in range(12)
)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("<link/>", "line 1: <link> has no name"),
        ("", "the robot has no <link>"),
        (balls("aba"), "line 1: two links are named 'a'"),
        ('<link name="a">\n<collision/></link>', "line 1: link 'a': a <collision> has nothing where URDF has"),
        (LINK.format("a", "<cone/>"), "link 'a': a <collision> has <cone> where URDF has one of box, sphere, cylinder"),
        (LINK.format("a", "<box/>"), "link 'a': <box> has no size"),
        (LINK.format("a", '<box size="1 2"/>'), "link 'a': size of <box> must be 3 numbers, not '1 2'"),
        (LINK.format("a", '<box size="1 2 -3"/>'), "link 'a': <box>: .*-3"),
        (LINK.format("a", '<sphere radius="nan"/>'), "link 'a': radius of <sphere> must be a number, not 'nan'"),
        (LINK.format("a", '<sphere radius="1_0"/>'), "link 'a': radius of <sphere> must be a number, not '1_0'"),
        (LINK.format("a", '<cylinder radius="-1" length="1"/>'), "link 'a': <cylinder>: .*-1"),
        (LINK.format("a", '<cylinder radius="1" length="0"/>'), "link 'a': <cylinder>: "),
        (LINK.format("a", "<mesh/>"), "link 'a': <mesh> has no filename"),
        (LINK.format("a", '<mesh filename="a.stl" scale="1 1 1 1"/>'),
         "link 'a': scale of <mesh> must be 3 numbers, not '1 1 1 1'"),
        (balls("ab") + TURN.format("j", "a", "c", ""), "joint 'j': <child>: there is no link 'c'"),
        (balls("ab") + TURN.format("j", "a", "", ""), "joint 'j': <child> has no link"),
        (balls("ab") + '<joint name="j" type="fixed"><parent link="a"/></joint>', "joint 'j' has no <child>"),
        (balls("ab") + '<joint name="j"><parent link="a"/></joint>', "joint 'j': <joint> has no type"),
        (balls("ab") + TURN.format("j", "a", "b", "").replace("revolute", "planar"),
         "joint 'j' is planar: write it as two prismatic joints and a revolute one"),
        (balls("ab") + TURN.format("j", "a", "b", "").replace("revolute", "hinge"), "joint 'j': unknown type 'hinge'"),
        (balls("ab") + TURN.format("j", "a", "b", "").replace("0 0 1", "0 0 0"), "link 'b': axis is zero"),
        (balls("abc") + TURN.format("1", "a", "c", "") + TURN.format("2", "b", "c", ""),
         "joint '2': link 'c' is the child of '1'"),
        (balls("abc") + TURN.format("1", "a", "b", "") + TURN.format("1", "b", "c", ""),
         "link 'c': there are two joints '1'"),
        (balls("ab") + TURN.format("1", "a", "b", "") + TURN.format("2", "b", "a", ""), "link 'b' hangs on itself"),
        (balls("ab") + TURN.format("1", "a", "b", '<mimic joint="1"/>'), "link 'b': joints mimic each other"),
        (balls("ab") + TURN.format("1", "a", "b", "<mimic/>"), "joint '1': <mimic> has no joint"),
        (balls("ab") + TURN.format("1", "a", "b", '<mimic joint="2"/>'), "link 'b': there is no joint '2' with values"),
        (balls("ab") + TURN.format("1", "a", "b", '<limit lower="${-pi}"/>'),
         r"joint '1': lower of <limit> must be a number, not '\$\{-pi\}'; expand this file by xacro"),
        (balls("ab") + '<xacro:arm side="left"/>', "line 1: <xacro:arm> belongs to xacro; expand this file by xacro"),
    ],
)  # fmt: skip
def test_urdf_files_that_are_damaged_name_file_and_element(tmp_path, inside, message):
    with pytest.raises(bp.errors.FileFormatError, match=rf"robot\.urdf: (line 1: )?{message}"):
        robot_of(tmp_path, inside)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not XML: no element found: line 1, column 0"),
        ("garbage", "not XML: syntax error: line 1, column 0"),
        ("<robot>\n<link name='a'></robot>", "not XML: mismatched tag: line 2"),
        ("<sdf/>", "line 1: the root element is <sdf>, not <robot>"),
        ("<?xml version='1.0' encoding='klingon'?><robot/>", "not XML: unknown encoding"),
        (
            f"{BOMB}]><robot name='&m;'><link name='a'/></robot>",
            "line 1: declares the entity 'a'; write its text instead",
        ),
        ("<!DOCTYPE robot [<!ENTITY a SYSTEM '/etc/passwd'>]><robot name='&a;'/>", "line 1: declares the entity 'a'"),
        (
            "<!DOCTYPE robot [<!ENTITY % a SYSTEM 'http://localhost/a.dtd'> %a;]><robot/>",
            "line 1: declares the entity 'a'",
        ),
    ],
)
def test_urdf_files_that_are_not_plain_xml_are_refused(tmp_path, text, message):
    path = tmp_path / "robot.urdf"
    path.write_text(text, "utf-8")
    with pytest.raises(bp.errors.FileFormatError, match=rf"robot\.urdf: {message}"):
        bp.Articulated.from_urdf(path)


def test_urdf_of_robots_that_are_damaged_are_refused_by_name(tmp_path):
    pytest.importorskip("trimesh")
    from damaged_robots import check_damage

    assert 100 < check_damage(tmp_path, 1, 500) < 400


def test_meshes_of_urdf_are_whole_or_refused(tmp_path):
    made = Gltf()
    square = made.primitive(BOX[:4], mode=6)
    made.node(square, square, translation=[5, 0, 0])
    made.node(made.primitive(BOX, BOX_FACES))
    (tmp_path / "a.glb").write_bytes(made.as_glb())
    path = tmp_path / "robot.urdf"
    path.write_text(
        '<robot name="r"><link name="a"><collision><geometry>'
        '<mesh filename="a.glb"/></geometry></collision></link></robot>'
    )
    assert bp.Articulated.from_urdf(path).links[0].shapes[0].faces.shape == (2 * 2 + 12, 3)
    made.node(made.primitive(BOX, mode=1))
    (tmp_path / "a.glb").write_bytes(made.as_glb())
    with pytest.warns(bp.errors.PartialFileWarning, match=r"a\.glb: not read: lines \(mesh 2, primitive 0\)"):
        bp.Articulated.from_urdf(path)
    made.tree["extensionsRequired"] = ["X_y"]
    (tmp_path / "a.glb").write_bytes(made.as_glb())
    with pytest.raises(FileFormatError, match=r"link 'a': the mesh 'a\.glb': needs the extension X_y"):
        bp.Articulated.from_urdf(path)


@pytest.mark.parametrize(("library", "read"), [("trimesh", "from_urdf"), ("mujoco", "from_mjcf")])
def test_missing_library_is_named_with_its_install(monkeypatch, tmp_path, library, read):
    monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / "a.dae").write_text("<COLLADA/>", "utf-8")
    path = tmp_path / "robot.xml"
    path.write_text(
        '<robot><link name="a"><collision><geometry><mesh filename="a.dae"/></geometry></collision></link></robot>'
    )
    with pytest.raises(MissingExtraError, match=rf'needs {library}: pip install "broadphase\[robots\]"'):
        getattr(bp.Articulated, read)(path)


# ---- MJCF ----


@pytest.mark.parametrize("seed", range(40))
def test_mjcf_has_the_poses_and_collisions_of_mujoco(seed):
    pytest.importorskip("mujoco")
    from mujoco_models import check_model

    check_model(seed, 20)


def test_mjcf_models_have_both_answers():
    pytest.importorskip("mujoco")
    from mujoco_models import check_model

    assert 80 < sum(check_model(seed, 10) for seed in range(100, 120)) < 120


def mjcf_of(inside, before=""):
    """A model with what is given inside of its worldbody."""
    return f"<mujoco>{before}<worldbody>{inside}</worldbody></mujoco>"


TWO_BALLS = (
    '<body name="a"><geom size="1"/></body><body name="b" pos="1 0 0"><joint type="slide"/><geom size="1"/></body>'
)


@pytest.mark.parametrize("flag", ["contact", "constraint"])
def test_mjcf_with_contacts_disabled_compares_no_bodies(flag):
    mujoco = pytest.importorskip("mujoco")
    robots = []
    for state in ("enable", "disable"):
        model = mujoco.MjModel.from_xml_string(mjcf_of(TWO_BALLS, f'<option><flag {flag}="{state}"/></option>'))
        robots.append(bp.Articulated.from_mjcf(model))
    assert [robot.collides([0.0]) for robot in robots] == [True, False]
    # They meet what the user brings.
    assert robots[1].collides([0.0], bp.Shapes(bp.Sphere(1), [2.5, 0, 0]))


def test_mjcf_geometries_are_compared_one_by_one():
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(
        mjcf_of(
            """<body name="a"><geom size="0.1" contype="1" conaffinity="0"/>
            <geom size="0.1" pos="5 0 0" contype="2" conaffinity="0"/></body>
            <body name="b"><joint type="slide" axis="1 0 0"/><geom size="0.1" contype="0" conaffinity="2"/></body>"""
        )
    )
    robot = bp.Articulated.from_mjcf(model)
    assert robot.pairs.tolist() == [[1, 2]]
    assert robot.collides([[0], [5]]).tolist() == [False, True]
    assert len(bp.Articulated.from_mjcf(model, allowed=[("b", "a")]).pairs) == 0
    with pytest.raises(ValueError, match="allowed: row 0 names 'c', which is no link"):
        bp.Articulated.from_mjcf(model, allowed=[("b", "c")])


@pytest.mark.parametrize("depth", [0.1, 0.3, 1e-3, 7.7])
def test_mjcf_plane_has_its_top_where_it_is(depth):
    mujoco = pytest.importorskip("mujoco")
    for geom in (f'type="sphere" size="{depth}"', f'type="box" size="1 1 {depth}"'):
        model = mujoco.MjModel.from_xml_string(
            mjcf_of(
                f"""<geom type="plane" size="1 1 1" pos="0 0 -{depth}"/>
                <body><joint type="slide"/><geom {geom}/></body>"""
            )
        )
        robot = bp.Articulated.from_mjcf(model)
        assert robot.collides([[0.0], [-1e-15], [-0.5], [-40.0], [1e-14]]).tolist() == [True] * 4 + [False]


def test_mjcf_free_joints_float_or_are_fixed():
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(
        mjcf_of(
            """<geom name="floor" type="plane" size="1 1 1"/><body name="trunk" pos="0 0 1" quat="0 0 1 0">
            <freejoint name="root"/><geom size="0.2"/><body name="leg" pos="0 0 0.5"><joint name="knee" axis="0 1 0"/>
            <geom type="capsule" fromto="0 0 0 0 0 0.6" size="0.05"/></body></body>"""
        )
    )
    robot, fixed = (bp.Articulated.from_mjcf(model, free=free) for free in ("floating", "fixed"))
    assert robot.joint_names == (*(f"root.{k}" for k in ("x", "y", "z", "qw", "qx", "qy", "qz")), "knee")
    assert fixed.joint_names == ("knee",)
    random = np.random.default_rng(0)
    data = mujoco.MjData(model)
    for knee in random.uniform(-2, 2, 20):
        data.qpos[:7], data.qpos[7] = random.normal(size=7), knee
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(robot.poses(data.qpos).positions[1], data.xpos[1], atol=1e-12)
        assert robot.collides(data.qpos) == (data.ncon > 0)
        data.qpos[:7] = model.qpos0[:7]
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(fixed.poses([knee]).positions[1:], data.xpos[1:], atol=1e-12)
        assert fixed.collides([knee]) == robot.collides(data.qpos) == (data.ncon > 0)
    with pytest.raises(ValueError, match=r"unknown free 'fix' \(did you mean 'fixed'\?\)"):
        bp.Articulated.from_mjcf(model, free="fix")


def test_mjcf_bodies_and_joints_without_names_take_no_other_name():
    mujoco = pytest.importorskip("mujoco")
    ball = '<geom size="0.1"/>'
    model = mujoco.MjModel.from_xml_string(
        mjcf_of(
            f"""<body><joint pos="1 0 0"/>{ball}</body><body name="body 1"><joint name="joint 0"/>{ball}</body>
            <body name="body 1\', joint 0\'">{ball}</body>"""
        )
    )
    robot = bp.Articulated.from_mjcf(model)
    assert len({link.name for link in robot.links}) == len(robot.links) == 5
    assert set(robot.joint_names) == {"joint 0'", "joint 0"}


def test_mjcf_file_with_a_floor_a_cylinder_and_an_ellipsoid(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "cart.xml"
    path.write_text(
        """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
        <body name="cart" pos="0 0 1"><joint name="lift" type="slide" axis="0 0 1" range="-1 1"/>
          <geom type="cylinder" size="0.2 0.5"/><geom type="ellipsoid" size="0.1 0.2 0.6"/></body>
        </worldbody></mujoco>""",
        "utf-8",
    )
    robot = bp.Articulated.from_mjcf(path)
    assert repr(robot) == "<a robot of 2 links, 3 shapes and 1 joint>"
    assert robot.limits.tolist() == [[-1, 1]]
    # The ellipsoid reaches 0.1 below the cylinder.
    assert robot.clearance([0.0]) == pytest.approx(0.4, abs=1e-9)
    assert robot.collides([[-0.38], [-0.41]]).tolist() == [False, True]


@pytest.mark.parametrize("name", ["sphere", "capsule", "box", "ellipsoid"])
def test_mjcf_height_field_is_touched_where_mujoco_finds_contacts(name):
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(11)
    heights = rng.random((5, 7))
    heights = (heights - heights.min()) / np.ptp(heights)  # as MuJoCo scales them
    size = {"sphere": "0.3", "capsule": "0.2 0.3", "box": "0.2 0.3 0.25", "ellipsoid": "0.2 0.3 0.25"}[name]
    numbers = " ".join(map(repr, heights.ravel().tolist()))
    text = mjcf_of(
        f"""<geom name="hill" type="hfield" hfield="h" pos="0.5 0.25 1"/>
        <body name="a"><freejoint/><geom type="{name}" size="{size}"/></body>""",
        f'<asset><hfield name="h" nrow="5" ncol="7" size="3 2 1.5 0.5" elevation="{numbers}"/></asset>',
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    robot = bp.Articulated.from_mjcf(model)
    ground = next(shape for shape in robot.placed(model.qpos0) if isinstance(shape, bp.HeightField))
    assert np.array_equal(ground.heights, 1.5 * model.hfield_data.reshape(5, 7).astype(float))
    assert (ground.bottom, len(robot.pairs)) == (-0.5, 1)
    differ = 0
    for _ in range(300):
        q = np.concatenate([rng.uniform([-2, -1.5, 1], [3, 2, 3]), rng.normal(size=4)])
        q[3:] /= np.linalg.norm(q[3:])
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        gap = robot.clearance([q])[0]
        touches = robot.collides([q])[0]
        assert touches == (gap <= 0)
        differ += touches != (data.ncon > 0 and data.contact.dist.min() < 0)
    assert differ <= 2  # that touch by a hair


def test_mjcf_that_has_no_robot_here_is_refused(tmp_path, monkeypatch):
    mujoco = pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log there
    path = tmp_path / "model.xml"
    path.write_text(mjcf_of('<geom name="hill" size="1"/>'), "utf-8")
    model = mujoco.MjModel.from_xml_path(str(path))
    model.geom_type[0] = mujoco.mjtGeom.mjGEOM_SDF
    with pytest.raises(ValueError, match=r"^geometry 'hill' is of type sdf, which has no shape here"):
        bp.Articulated.from_mjcf(model)
    model.geom_contype[0] = model.geom_conaffinity[0] = 0
    assert len(bp.Articulated.from_mjcf(model).part_links) == 0
    path.write_text(
        mjcf_of("""<flexcomp name="cloth" type="grid" count="3 3 1" spacing="0.1 0.1 0.1" mass="1" dim="2"/>"""),
        "utf-8",
    )
    with pytest.raises(bp.errors.FileFormatError, match="flex 'cloth' is soft and has no shape here"):
        bp.Articulated.from_mjcf(path)
    with pytest.raises(TypeError, match=r"source must be a path or a mujoco\.MjModel"):
        bp.Articulated.from_mjcf(3)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize(
    "inside",
    [
        '<asset><mesh name="m" file="pipe"/></asset>',
        "<compiler meshdir='assets'/><asset><mesh name='m' file = 'p&#105;pe'/></asset>",
        '<include file="pipe"/>',
        '<include file="more/other.xml"/>',
        '<asset><texture type="cube" fileright="assets/pipe"/></asset>',
    ],
)
def test_files_that_name_pipes_do_not_wait(tmp_path, inside):
    pytest.importorskip("mujoco")
    for folder in (tmp_path, tmp_path / "assets", tmp_path / "more"):
        folder.mkdir(exist_ok=True)
        os.mkfifo(folder / "pipe")
    (tmp_path / "more" / "other.xml").write_text("<mujoco><include file='pipe'/></mujoco>", "utf-8")
    path = tmp_path / "model.xml"
    path.write_text(f"<mujoco>{inside}</mujoco>", "utf-8")
    with pytest.raises(bp.errors.FileFormatError, match=r"model\.xml: names '.*pipe', which is not a regular file"):
        bp.Articulated.from_mjcf(path)
    mesh = LINK.format("a", '<mesh filename="pipe"/>')
    path.write_text(f"<robot>{mesh}</robot>", "utf-8")
    with pytest.raises(FileNotFoundError, match="link 'a': the mesh 'pipe': there is no such file"):
        bp.Articulated.from_urdf(path)


def test_mjcf_names_that_are_not_text_are_refused(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "model.xml"
    path.write_bytes(b'<mujoco><worldbody><body name="\x96"><geom size="1"/></body></worldbody></mujoco>')
    with pytest.raises(bp.errors.FileFormatError, match=r"model\.xml: the name of body 1 is not UTF-8"):
        bp.Articulated.from_mjcf(path)


def test_mjcf_of_robots_that_are_damaged_are_refused_by_name(tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    from damaged_robots import MJCFS, check_damage

    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log there
    assert 50 < check_damage(tmp_path, 1, 200, robots=MJCFS, read=bp.Articulated.from_mjcf) < 150


# ---- FCL ----


@pytest.mark.parametrize("seed", range(6))
def test_collides_and_clearance_are_those_of_fcl(seed):
    fcl = pytest.importorskip("fcl")
    random = np.random.default_rng(seed)
    links, theirs, parent = [], [], None
    for k in range(5):
        long = float(random.uniform(0.2, 0.5))
        if k % 2:
            shape, geometry = bp.Box(0.1, 0.2, long, offset=(0, 0, long / 2)), fcl.Box(0.1, 0.2, long)
        else:
            shape, geometry = bp.Capsule((0, 0, 0), (0, 0, long), 0.05), fcl.Capsule(0.05, long)
        links.append(bp.Link(f"{k}", shape, parent, "revolute", random.normal(size=3), (0, 0, 0.4)))
        theirs.append((fcl.CollisionObject(geometry), np.array([0, 0, long / 2])))
        parent = f"{k}"
    robot = bp.Articulated(links)
    sizes, centers = random.uniform(0.05, 0.4, (40, 3)), random.uniform(-2, 2, (40, 3))
    turns = random.normal(size=(40, 4))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    vertices, faces = random.normal(size=(60, 3)) * 0.3 + (1, 0, 1), random.integers(0, 60, (40, 3))
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])]
    scene = bp.Shapes([bp.Box(sizes), bp.Mesh(vertices, faces)], np.r_[centers, [[0, 0, 0]]],
                      np.r_[turns, [[1, 0, 0, 0]]])  # fmt: skip
    surface = fcl.BVHModel()
    surface.beginModel(len(vertices), len(faces))
    surface.addSubModel(vertices, faces)
    surface.endModel()
    static = [fcl.CollisionObject(fcl.Box(*size), fcl.Transform(turn, center))
              for size, turn, center in zip(sizes, matrices_of(turns), centers, strict=True)]  # fmt: skip
    static.append(fcl.CollisionObject(surface))
    q = random.uniform(-3, 3, (60, 5))
    found = robot.collides(q, scene)
    positions, rotations = robot.poses(q)
    assert 3 < found.sum() < 57
    gaps = robot.clearance(q, scene)
    for row in range(len(q)):
        for k, (moving, middle) in enumerate(theirs):
            turn = matrices_of(rotations[row, k])
            moving.setTransform(fcl.Transform(turn, positions[row, k] + turn @ middle))
        pairs = [(one, other) for one, _ in theirs for other in static]
        pairs += [(theirs[i][0], theirs[j][0]) for i, j in robot.pairs]
        hit = any(fcl.collide(*pair, fcl.CollisionRequest(), fcl.CollisionResult()) for pair in pairs)
        if hit != found[row]:
            assert margin(robot, q[row], scene) < 1e-6
        elif not hit:
            # FCL's distance to a mesh is to its triangles by GJK, up to its tolerance.
            least = min(fcl.distance(*pair, fcl.DistanceRequest(), fcl.DistanceResult()) for pair in pairs)
            assert gaps[row] == pytest.approx(least, abs=1e-4)
