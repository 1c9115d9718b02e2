"""Descriptions of robots, and the same damaged: each is read, or refused by an error that names file and element."""

import re
import xml.etree.ElementTree as ET
from contextlib import suppress

import numpy as np

import broadphase as bp

GRIPPER = """<?xml version="1.0"?>
<robot name="gripper">
  <link name="world"/>
  <link name="base"><inertial><mass value="1"/></inertial>
    <collision name="c"><origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/><geometry><box size="0.4 0.3 0.2"/></geometry>
    </collision><visual><geometry><sphere radius="9"/></geometry></visual></link>
  <link name="arm"><collision><origin xyz="0 0 0.5"/><geometry><cylinder radius="0.1" length="1"/></geometry>
    </collision>
    <collision><origin xyz="0 0 1"/><geometry><sphere radius="0.15"/></geometry></collision></link>
  <link name="wrist"/>
  <link name="left"><collision><geometry><mesh filename="finger.obj" scale="0.5 1 2"/></geometry></collision></link>
  <link name="right"><collision><geometry><mesh filename="package://gripper/finger.obj"/></geometry></collision></link>
  <joint name="weld" type="fixed"><parent link="world"/><child link="base"/><origin xyz="1 2 3"/></joint>
  <joint name="swing" type="revolute"><parent link="base"/><child link="arm"/>
    <origin xyz="0 0 0.2" rpy="0.3 -0.4 0.5"/>
    <axis xyz="0 1 1"/><limit lower="-1.5" upper="2" effort="1" velocity="1"/></joint>
  <joint name="spin" type="continuous"><parent link="arm"/><child link="wrist"/><origin xyz="0 0 1.1"/></joint>
  <joint name="grip" type="prismatic"><parent link="wrist"/><child link="left"/><origin xyz="0 0.3 0"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.4" effort="1" velocity="1"/></joint>
  <joint name="follow" type="prismatic"><parent link="wrist"/><child link="right"/><origin xyz="0 -0.3 0"/>
    <axis xyz="0 1 0"/><limit lower="-0.4" upper="0" effort="1" velocity="1"/>
    <mimic joint="grip" multiplier="-1.5" offset="0.1"/></joint>
</robot>"""

HAND = """<robot name="hand"><material name="grey"><color rgba="1 1 1 1"/></material>
  <link name="palm"><collision><geometry><box size="0.1 0.1 0.02"/></geometry></collision></link>
  <link name="a"><collision><geometry><box size="0.02 0.02 0.05"/></geometry></collision></link>
  <link name="b"><collision><geometry><sphere radius="0.02"/></geometry></collision></link>
  <link name="c"><collision><geometry><cylinder radius="0.01" length="0.05"/></geometry></collision></link>
  <joint name="1" type="revolute"><parent link="palm"/><child link="a"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="1.2" effort="1" velocity="1"/></joint>
  <joint name="2" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 0.05"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="1" effort="1" velocity="1"/><mimic joint="1" multiplier="0.8" offset="0.1"/></joint>
  <joint name="3" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0 0 0.05"/><axis xyz="0 1 0"/>
    <limit lower="1" upper="0" effort="1" velocity="1"/><mimic joint="2" multiplier="0.9" offset="-0.2"/></joint>
  <transmission name="t"><joint name="1"/><actuator name="m"/></transmission><gazebo reference="a"/>
</robot>"""

DRONE = """<robot name="drone" xmlns:xacro="http://ros.org/wiki/xacro"><link name="map"/>
  <link name="body"><collision><geometry><sphere radius="0.3"/></geometry></collision></link>
  <link name="mast"><collision><geometry><cylinder length="0.5" radius="0.02"/></geometry></collision></link>
  <joint name="fly" type="floating"><parent link="map"/><child link="body"/><origin xyz="0 0 1"/></joint>
  <joint name="lift" type="prismatic"><parent link="body"/><child link="mast"/><origin xyz="0 0 0.4" rpy="0 0 1"/>
    <axis xyz="0 0 2"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint></robot>"""

CART = """<mujoco model="cart"><compiler angle="radian" autolimits="true"/><option timestep="0.01"/>
  <default><geom condim="3" density="100"/></default>
  <asset><mesh name="wedge" file="finger.obj" scale="1 1 1"/></asset>
  <worldbody><geom name="floor" type="plane" size="1 1 1"/>
    <body name="cart" pos="0 0 1"><freejoint name="root"/><geom type="box" size="0.3 0.2 0.1"/>
      <body name="pole" pos="0 0 0.2"><joint name="hinge" axis="0 1 0" range="-1 1"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.6" size="0.05"/>
        <body name="tip" pos="0 0 0.6"><joint name="ball" type="ball"/><geom type="ellipsoid" size="0.1 0.05 0.2"/>
          <geom type="mesh" mesh="wedge"/></body></body></body></worldbody>
  <contact><exclude body1="cart" body2="pole"/></contact>
  <equality><joint joint1="hinge"/></equality></mujoco>"""

URDFS, MJCFS = (GRIPPER, HAND, DRONE), (CART,)
FINGER = "v 0 0 0\nv 0.2 0 0\nv 0 0.1 0\nv 0 0 0.4\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
WORDS = ("", " ", "nan", "inf", "-inf", "1e999", "1e-320", "-1", "0", "0 0 0", "1 2", "1 2 3 4", "0 nan 0", "1,2,3",
         "0x10", "1_0", "1e30", "-1 -1 -1", "1;2;3", "${pi/2}", "x", "a", "base", "arm", "grip", "2", "fixed",
         "revolute", "ball", "planar", "floating", "spherical", "no.obj", "package://", "package://gripper/../../x",
         "/", ".", "\u00e9\u4e16", "9" * 400, "true", "cart", "hinge", "robot\n")  # fmt: skip


def damaged(random, text):
    """The bytes of a file after one to three faults in its elements, its attributes or its bytes."""
    content = text.encode()
    with suppress(ET.ParseError):
        root = ET.fromstring(text)
        for _ in range(random.integers(0, 4)):
            damage_tree(random, root)
        content = ET.tostring(root)
    if random.random() < 0.3:
        for _ in range(random.integers(1, 4)):
            content = damage_bytes(random, content)
    return content


def damage_tree(random, root):
    every = [(above, child) for above in root.iter() for child in above]
    if not every:
        return
    above, element = every[random.integers(len(every))]
    names = list(element.attrib)
    name = names[random.integers(len(names))] if names else "name"
    other = every[random.integers(len(every))][1]
    word = WORDS[random.integers(len(WORDS))]
    match random.integers(12):
        case 0:
            above.remove(element)
        case 1:
            above.insert(int(random.integers(len(above) + 1)), element)
        case 2:
            element.tag = other.tag
        case 3:
            element.tag = ("xacro", "linkk", "geometry", "robot", "a:b")[random.integers(5)]
        case 4:
            element.attrib.pop(name, None)
        case 5 | 6 | 7:
            element.set(name, word)
        case 8:
            element.set(("name", "type", "scale", "joint", "link", "xyz")[random.integers(6)], word)
        case 9:
            values = [one.get(key) for _, one in every for key in one.attrib]
            element.set(name, values[random.integers(len(values))])
        case 10:
            above.remove(element)
            root.append(element)
        case 11:
            other.append(ET.Element(element.tag, element.attrib))


def damage_bytes(random, content):
    at = int(random.integers(len(content) + 1))
    match random.integers(5):
        case 0:
            return content[:at]
        case 1:
            return content[:at] + random.bytes(int(random.integers(1, 4))) + content[at + 1 :]
        case 2:
            return content[:at] + content[at + int(random.integers(1, 30)) :]
        case 3:
            to = int(random.integers(len(content) + 1))
            return content[:at] + content[min(at, to) : max(at, to)] + content[at:]
        case _:
            return b"<!DOCTYPE robot [<!ENTITY a 'b'>]>" + content.replace(b"arm", b"&a;")


ELEMENT = re.compile(
    r"""line \d|(link|joint|body|geometry|flex) ['"]|not XML|cannot read it|links: |no <link>|the name of|names '"""
)


def check_damage(folder, seed, count, *, robots=URDFS, read=bp.Articulated.from_urdf):
    """Read damaged files; return how many were read."""
    random = np.random.default_rng(seed)
    (folder / "finger.obj").write_text(FINGER)
    path = folder / "damaged.xml"
    known = 0
    for number in range(count):
        path.write_bytes(damaged(random, robots[random.integers(len(robots))]))
        robot, error = robot_or_error(read, path)
        if error is not None:
            if not isinstance(error, bp.errors.FileFormatError | FileNotFoundError):
                raise AssertionError(f"seed {seed}, number {number}") from error
            assert str(path) in str(error), (seed, number, error)
            assert ELEMENT.search(str(error)), (seed, number, error)
            assert len(str(error)) < 2000, (seed, number)
            continue
        known += 1
        q = np.ones((2, len(robot.joint_names)))
        assert np.isfinite(robot.poses(q).positions).all(), (seed, number)
        robot.collides(q)
    return known


def robot_or_error(read, path):
    try:
        return read(path), None
    except Exception as error:
        return None, error
