"""Random models of MuJoCo, and robots made of them compared with what MuJoCo finds."""

import mujoco
import numpy as np

import broadphase as bp

CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
KINDS = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "mesh", "mesh")
# How far the hull around a solid is outside of it at most, as a share of its size.
EXCESS = {mujoco.mjtGeom.mjGEOM_ELLIPSOID: 0.0046, mujoco.mjtGeom.mjGEOM_CYLINDER: 0.00121}
NEAR = 0.02  # up to which MuJoCo reports distances
ROUNDING = 1e-6  # up to which MuJoCo's iterations come


def numbers(values):
    """Numbers as an attribute."""
    return " ".join(repr(float(value)) for value in np.ravel(values))


def random_pose(random, room):
    return f'pos="{numbers(random.uniform(-room, room, 3))}" quat="{numbers(random.normal(size=4))}"'


def random_geom(random, name):
    kind = KINDS[random.integers(len(KINDS))]
    shape = f'mesh="{("block", "cut")[random.integers(2)]}"'
    if kind != "mesh":
        shape = f'size="{numbers(random.uniform(0.04, 0.2, 3))}"'
    masks = "" if random.random() < 0.5 else f'contype="{random.integers(4)}" conaffinity="{random.integers(4)}"'
    called = f'name="{name}"' if name else ""
    return f'<geom type="{kind}" {called} {shape} {random_pose(random, 0.2)} {masks}/>'


def random_joints(random, k, *, is_top):
    if random.random() < 0.2:
        return ""  # welded to its parent
    if is_top and random.random() < 0.3:
        return f'<freejoint name="free{k}"/>' if random.random() < 0.5 else "<freejoint/>"
    joints = ""
    for j in range(random.integers(1, 3)):
        kind = ("hinge", "slide", "ball")[random.integers(3)]
        anchor = f'pos="{numbers(random.uniform(-0.2, 0.2, 3))}"' if random.random() < 0.5 else ""
        name = f'name="j{k}{j}"' if random.random() < 0.8 else ""
        if kind == "ball":
            return joints + f'<joint type="ball" {name} {anchor}/>'  # the last: with a hinge it has too many axes
        ref = f'ref="{random.uniform(-1, 1)}"' if random.random() < 0.3 else ""
        limits = 'range="-1 2"' if random.random() < 0.5 else ""
        joints += f'<joint type="{kind}" {name} axis="{numbers(random.normal(size=3))}" {anchor} {ref} {limits}/>'
    return joints


def random_model(random):
    """A tree of bodies with joints of all kinds, geometries of all kinds, and filters of all kinds."""
    bodies = int(random.integers(2, 7))
    block = CORNERS * random.uniform(0.1, 0.4, 3) + random.normal(size=(8, 3)) * 0.01
    cloud = random.normal(size=(30, 3)) * 0.1
    children = {k: [] for k in range(bodies + 1)}
    for k in range(1, bodies + 1):
        children[int(random.integers(max(0, k - 2), k))].append(k)
    geoms = []

    def geom():
        geoms.append(f"g{len(geoms)}")
        return random_geom(random, geoms[-1])

    def body(k, *, is_top):
        joints = random_joints(random, k, is_top=is_top)
        mocap = 'mocap="true"' if is_top and not joints and random.random() < 0.3 else ""
        inside = "".join(geom() for _ in range(random.integers(1, 3)))
        inside += "".join(body(child, is_top=False) for child in children[k])
        return (
            f'<body name="b{k}" {random_pose(random, 0.4)} {mocap}>'
            f'<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{joints}{inside}</body>'
        )

    world = "".join(geom() for _ in range(random.integers(2)))
    if random.random() < 0.4:
        world += f'<geom type="plane" size="0 0 1" {random_pose(random, 1.5)} contype="3"/>'
    world += "".join(body(child, is_top=True) for child in children[0])
    flags = [f'{name}="disable"' for name, share in (("contact", 0.04), ("constraint", 0.03), ("filterparent", 0.2))
             if random.random() < share]  # fmt: skip
    contact = ""
    if random.random() < 0.5:
        first, second = random.choice(np.arange(1, bodies + 1), 2, replace=False)
        contact += f'<exclude body1="b{first}" body2="b{second}"/>'
    for _ in range(random.integers(3)):
        first, second = random.choice(geoms, 2, replace=False)
        contact += f'<pair geom1="{first}" geom2="{second}"/>'
    return (
        f'<mujoco><compiler angle="radian"/><default><joint armature="1"/></default>'
        f'<option ccd_tolerance="1e-9" ccd_iterations="200">'
        f"<flag {' '.join(flags)}/></option><asset>"
        f'<mesh name="block" vertex="{numbers(block)}" scale="{numbers(random.uniform(0.5, 1.5, 3))}"'
        f' refpos="{numbers(random.uniform(-0.1, 0.1, 3))}" refquat="{numbers(random.normal(size=4))}"/>'
        f'<mesh name="cut" vertex="{numbers(cloud)}" maxhullvert="8"/></asset>'
        f"<worldbody>{world}</worldbody><contact>{contact}</contact></mujoco>"
    )


def random_configurations(random, model, count):
    q = random.uniform(-1.2, 1.2, (count, model.nq))
    for joint in range(model.njnt):
        if model.jnt_type[joint] in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
            at = model.jnt_qposadr[joint] + (3 if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE else 0)
            q[:, at : at + 4] = random.normal(size=(count, 4))
    return q


def matrices_of(rotations):
    """Of unit quaternions, (n, 3, 3)."""
    w, x, y, z = np.moveaxis(np.asarray(rotations, float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def check_model(seed, count):
    """Compare poses of bodies and geometries, and which configurations collide; return how many do."""
    random = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(random_model(random))
    robot = bp.Articulated.from_mjcf(model)
    assert len(robot.joint_names) == model.nq
    q = random_configurations(random, model, count)
    found = robot.collides(q)
    positions, rotations = robot.poses(q)
    names = [link.name for link in robot.links]
    places = [names.index(model.body(k).name) for k in range(model.nbody)]
    paired = {*model.pair_geom1.tolist(), *model.pair_geom2.tolist()}
    kept = [k for k in range(model.ngeom) if model.geom_contype[k] or model.geom_conaffinity[k] or k in paired]
    offsets = [shape.offset for link in robot.links for shape in link.shapes]
    assert len(kept) == len(offsets)
    model.geom_margin[:] = NEAR
    model.pair_margin[:] = NEAR
    # The body that moves each geometry; bodies that MuJoCo's user moves (mocap) stay where they are.
    weld = np.where(model.body_mocapid[model.body_weldid] >= 0, 0, model.body_weldid)[model.geom_bodyid]
    kinds = map(mujoco.mjtGeom, model.geom_type)
    excess = [EXCESS.get(kind, 0) * max(size) for kind, size in zip(kinds, model.geom_size, strict=True)]
    data = mujoco.MjData(model)
    for row in range(count):
        data.qpos[:] = q[row]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        np.testing.assert_allclose(positions[row, places], data.xpos, atol=1e-11)
        turns = matrices_of(rotations[row, places])
        np.testing.assert_allclose(turns, data.xmat.reshape(-1, 3, 3), atol=1e-11)
        for geom, offset in zip(kept, offsets, strict=True):
            body = model.geom_bodyid[geom]
            at = positions[row, places[body]] + turns[body] @ offset
            np.testing.assert_allclose(at, data.geom_xpos[geom], atol=1e-11)
        # Those that never move relative to each other are not compared here.
        pairs = {(one.geom1, one.geom2) for one in data.contact if weld[one.geom1] != weld[one.geom2]}
        distances = {(a, b): mujoco.mj_geomDistance(model, data, a, b, 1.0, None) for a, b in pairs}
        least = min(distances.values(), default=np.inf)
        at_most = min((dist - excess[a] - excess[b] for (a, b), dist in distances.items()), default=np.inf)
        if found[row]:
            assert at_most < ROUNDING, (seed, row, least)
        else:
            assert least > -ROUNDING, (seed, row, least)
    return int(found.sum())
