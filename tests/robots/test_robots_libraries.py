"""Robots of URDF and MJCF files, judged by yourdfpy, MuJoCo and FCL on the models as they read them."""

import sys

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import MissingExtraError

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


@pytest.mark.filterwarnings("ignore")
def test_urdf_has_the_collision_geometries(urdf):
    yourdfpy = pytest.importorskip("yourdfpy")
    robot = bp.Articulated.from_urdf(yourdfpy.URDF.load(str(urdf), load_meshes=False))
    shapes = {link.name: list(link.shapes) for link in robot.links}
    assert [len(shapes[name]) for name in ("world", "base", "arm", "wrist", "left", "right")] == [0, 1, 2, 0, 1, 1]
    assert [type(one).__name__ for name in ("base", "arm", "left") for one in shapes[name]] == [
        "Box", "ConvexHull", "Sphere", "Mesh",
    ]  # fmt: skip
    assert (shapes["base"][0].x, shapes["base"][0].y, shapes["base"][0].z) == (0.4, 0.3, 0.2)
    # The cylinder of radius 0.1 about the axis of the arm is inside the prism, and nearly is it.
    points = shapes["arm"][0].points + shapes["arm"][0].offset
    assert 0.1 < np.linalg.norm(points[:, :2], axis=1).max() < 0.1006
    assert np.ptp(points[:, 2]) == 1
    for name, size in (("left", (0.1, 0.1, 0.8)), ("right", (0.2, 0.1, 0.4))):
        np.testing.assert_allclose(np.ptp(shapes[name][0].vertices, axis=0), size, atol=1e-6)
    hulls = bp.Articulated.from_urdf(urdf, hulls=True, allowed=[("left", "right")])
    assert [type(one).__name__ for link in hulls.links for one in link.shapes].count("ConvexHull") == 3
    # base and arm, arm and the fingers over the wrist without shapes: neighbors.
    owners = [robot.links[k].name for k in robot.part_links]
    assert {frozenset((owners[i], owners[j])) for i, j in robot.pairs} == {
        frozenset(pair) for pair in (("base", "left"), ("base", "right"), ("left", "right"))
    }
    assert len(hulls.pairs) == len(robot.pairs) - 1


@pytest.mark.filterwarnings("ignore")
def test_urdf_that_has_no_robot_here_is_refused(urdf, tmp_path):
    pytest.importorskip("yourdfpy")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        bp.Articulated.from_urdf(tmp_path / "no.urdf")
    with pytest.raises(TypeError, match=r"source must be a path or a yourdfpy\.URDF"):
        bp.Articulated.from_urdf(3)
    for kind in ("planar",):
        urdf.write_text(URDF.replace('"spin" type="continuous"', f'"spin" type="{kind}"'), "utf-8")
        with pytest.raises(ValueError, match=f"joint 'spin' is '{kind}': only fixed, revolute, continuous, prismatic"):
            bp.Articulated.from_urdf(urdf)
    (urdf.parent / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 3 4\n", "utf-8")
    urdf.write_text(URDF.replace("finger.stl", "flat.obj"), "utf-8")
    assert len(bp.Articulated.from_urdf(urdf).part_links) == 5
    with pytest.raises(ValueError, match=r"link 'left': the mesh 'flat\.obj': points lie in one plane"):
        bp.Articulated.from_urdf(urdf, hulls=True)
    urdf.write_text(URDF.replace("finger.stl", "thumb.stl"), "utf-8")
    with pytest.raises(FileNotFoundError, match=r"link 'left': there is no file for the mesh 'thumb\.stl'"):
        bp.Articulated.from_urdf(urdf)


@pytest.mark.parametrize(("library", "read"), [("yourdfpy", "from_urdf"), ("mujoco", "from_mjcf")])
def test_missing_library_is_named_with_its_install(monkeypatch, tmp_path, library, read):
    monkeypatch.setitem(sys.modules, library, None)
    path = tmp_path / "robot.xml"
    path.write_text("<robot/>", "utf-8")
    with pytest.raises(MissingExtraError, match=rf'needs {library}: pip install "broadphase\[robots\]"'):
        getattr(bp.Articulated, read)(path)


# ---- MJCF ----


def numbers(values):
    return " ".join(repr(float(value)) for value in np.ravel(values))


def random_geom(random, extra=""):
    size = random.uniform(0.03, 0.2, 3)
    kind = ("sphere", "capsule", "box", "mesh")[random.integers(4)]
    shape = 'mesh="block"' if kind == "mesh" else f'size="{numbers(size)}"'
    return (f'<geom type="{kind}" {shape} pos="{numbers(random.uniform(-0.2, 0.2, 3))}"'
            f' quat="{numbers(random.normal(size=4))}" {extra}/>')  # fmt: skip


def random_mjcf(random, bodies, boxes):
    """A tree of bodies with hinges and slides, some with anchors and refs, masks and exclusions; boxes in the world."""
    block = CUBE * random.uniform(0.1, 0.4, 3) + random.normal(size=(8, 3)) * 0.01
    children = {k: [] for k in range(bodies + 1)}
    for k in range(1, bodies + 1):
        children[int(random.integers(max(0, k - 2), k))].append(k)

    def body(k):
        joints = ""
        for j in range(random.integers(3)):
            kind = ("hinge", "slide")[random.integers(2)]
            anchor = f'pos="{numbers(random.uniform(-0.2, 0.2, 3))}"' if random.random() < 0.5 else ""
            ref = f'ref="{random.uniform(-1, 1)}"' if random.random() < 0.3 else ""
            limits = 'range="-1 2" limited="true"' if j == 0 else ""
            joints += (
                f'<joint name="j{k}{j}" type="{kind}" axis="{numbers(random.normal(size=3))}" {anchor} {ref} {limits}/>'
            )
        masks = ('contype="2" conaffinity="3"', 'contype="0" conaffinity="0"', "", "")[random.integers(4)]
        return (
            f'<body name="b{k}" pos="{numbers(random.uniform(-0.4, 0.4, 3))}" quat="{numbers(random.normal(size=4))}">'
            f'<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{joints}'
            f"{random_geom(random, masks)}{''.join(map(body, children[k]))}</body>"
        )

    world = "".join(random_geom(random, 'contype="3"') for _ in range(boxes))
    return (
        f'<mujoco><compiler angle="radian"/><asset><mesh name="block" vertex="{numbers(block)}"/></asset><worldbody>'
        f"{world}{''.join(map(body, children[0]))}</worldbody>"
        f'<contact><exclude body1="b1" body2="b{bodies}"/></contact></mujoco>'
    )


@pytest.mark.parametrize("seed", range(25))
def test_mjcf_has_the_poses_and_collisions_of_mujoco(seed):
    mujoco = pytest.importorskip("mujoco")
    random = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(random_mjcf(random, int(random.integers(2, 7)), int(random.integers(2))))
    data = mujoco.MjData(model)
    robot = bp.Articulated.from_mjcf(model)
    assert len(robot.joint_names) == model.nq
    assert robot.joint_names == tuple(model.joint(k).name for k in range(model.njnt))
    places = [[link.name for link in robot.links].index(model.body(k).name) for k in range(model.nbody)]
    q = random.uniform(-1.5, 1.5, (60, model.nq))
    positions, rotations = robot.poses(q)
    found = robot.collides(q)
    for row in range(len(q)):
        data.qpos[:] = q[row]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        np.testing.assert_allclose(positions[row, places], data.xpos, atol=1e-12)
        np.testing.assert_allclose(matrices_of(rotations[row, places]), data.xmat.reshape(-1, 3, 3), atol=1e-12)
        if found[row] != (data.ncon > 0):
            assert margin(robot, q[row]) < 1e-4  # MuJoCo iterates up to a tolerance


def test_mjcf_scenes_have_both_answers():
    mujoco = pytest.importorskip("mujoco")
    random = np.random.default_rng(3)
    model = mujoco.MjModel.from_xml_string(random_mjcf(random, 6, 1))
    found = bp.Articulated.from_mjcf(model).collides(random.uniform(-1.5, 1.5, (500, model.nq)))
    assert 5 < found.sum() < 495


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
    # The ellipsoid reaches 0.1 below the cylinder; its hull by up to 2 % more.
    assert robot.clearance([0.0]) == pytest.approx(0.4, abs=0.015)
    assert robot.clearance([0.0]) <= 0.4
    assert robot.collides([[-0.38], [-0.41]]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (
            '<freejoint name="float"/><geom size="1"/>',
            "joint 'float' of body 'a' is free: only hinge and slide are known",
        ),
        ('<joint name="hip" type="ball"/><geom size="1"/>', "joint 'hip' of body 'a' is ball"),
        (
            '<joint/><geom name="hill" type="hfield" hfield="h"/>',
            "geometry 'hill' is of type hfield, which has no shape",
        ),
    ],
)
def test_mjcf_that_has_no_robot_here_is_refused(inside, message):
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset><worldbody><body name="a">'
        f'<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{inside}</body></worldbody></mujoco>'
    )
    with pytest.raises(ValueError, match=message):
        bp.Articulated.from_mjcf(model)
    with pytest.raises(TypeError, match=r"source must be a path or a mujoco\.MjModel"):
        bp.Articulated.from_mjcf(3)


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
