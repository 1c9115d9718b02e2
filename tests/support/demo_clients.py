"""Clients of the demo for its tests: well-behaved ones, and hostile ones that send what no page sends."""

import math
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import msgspec
import viser
from viser import _messages
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

PATIENCE = 30.0
PROTOCOL = f"viser-v{viser.__version__}"
CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": [0.0, 1.0, 0.0, 0.0],
    "position": [0.0, 0.0, 12.0],
    "fov": 1.0,
    "near": 0.01,
    "far": 1000.0,
    "image_height": 400,
    "image_width": 600,
    "look_at": [0.0, 0.0, 0.0],
    "up_direction": [0.0, 1.0, 0.0],
}
CLICK = {
    "type": "ScenePointerMessage",
    "event_type": "click",
    "ray_origin": [0.0, 0.0, 9.0],
    "ray_direction": [0.0, 0.0, -1.0],
    "screen_pos": [[0.5, 0.5]],
    "modifier": None,
}
DRAG = {"type": "TransformControlsUpdateMessage", "name": "/probe", "wxyz": [1, 0, 0, 0], "position": [0, 0, 0]}
HAND = {
    "type": "SceneNodeDragMessage",
    "phase": "update",
    "name": "/bodies/0_0",
    "instance_index": 3,
    "start_position": [0.0, 0.0, 0.0],
    "start_screen_pos": [0.5, 0.5],
    "end_position": [1.0, 1.0, 0.0],
    "end_screen_pos": [0.6, 0.6],
    "button": "left",
    "modifier": None,
}
PART = {"type": "FileTransferPart", "source_component_uuid": "u", "transfer_uuid": "t", "part_index": 0}
encode = msgspec.msgpack.encode


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def port_of(page):
    return urlsplit(page.url).port


@contextmanager
def client(page, **given):
    """A client that looks like the page of viser."""
    port = port_of(page)
    options = {"origin": f"http://localhost:{port}", "subprotocols": [PROTOCOL], "max_size": None, "close_timeout": 1}
    options = options | given
    with connect(f"ws://localhost:{port}", **options) as connection:
        yield connection


def step_of(page):
    frame = page.simulation.frame
    return -1 if frame is None else frame.number


def assert_runs(page):
    """The demo steps, unless somebody has paused it, and sends to whoever behaves."""
    number = step_of(page)

    def steps():
        if page.controls.pause.value:  # by a click that may still be on its way
            page.controls.pause.value = False
        return number + 2 < step_of(page) or step_of(page) < number  # less after a change of the scene

    until(steps)
    with client(page) as connection:
        connection.send(encode(CAMERA))
        assert connection.recv(timeout=PATIENCE)


WRONG = (
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    -(2**63),
    1e300,
    math.nan,
    math.inf,
    "",
    "x",
    "\x1b[31m",
    "é" * 5000,
    b"",
    b"\0",
)
WRONG += ([], [[]], {}, [1e300] * 3, [math.nan] * 4, ["a", "b", "c"], [None] * 3, [0.0] * 3, [0.0] * 4, {"value": {}})


def hostile_frames(page, rng):
    """Yield messages that no page sends: noise, damaged ones, unknown ones, and wrong values in every field."""
    controls = page.controls
    elements = [controls.scene, controls.method, controls.count, controls.size, controls.pause, controls.answer]
    uuids = [
        element._impl.uuid
        for element in [*elements, controls.mesh, controls.save, controls.colour, controls.query, controls.cull]
    ]
    right = [CAMERA, CLICK, CLICK | {"event_type": "rect-select", "screen_pos": [[0, 0], [1, 1]]}, DRAG]
    right += [HAND, HAND | {"phase": "start"}, HAND | {"phase": "end"}]
    uuids.append(controls.settings._impl.uuid)
    right += [{"type": "GuiUpdateMessage", "uuid": one, "updates": {"value": "x"}} for one in uuids]
    keys = (controls.pause_key, controls.pause_camera_key, controls.switch_key, controls.hand_key)
    right += [{"type": "CommandTriggerMessage", "uuid": key._impl.uuid} for key in keys]
    right += [
        {"type": name} | {"uuid": uuids[0], "name": "/probe"} for name in dir(_messages) if name.endswith("Message")
    ]
    right += [
        PART | {"content": b"abc"},
        {"type": "ShareUrlRequest"},
        {"type": "Message"},
        {"type": "x"},
        {},
        [],
        5,
        "x",
    ]
    while True:
        message = rng.choice(right)
        draw = rng.random()
        if draw < 0.15:
            yield rng.randbytes(rng.randrange(200))
        elif draw < 0.25:
            frame = bytearray(encode(message))
            for _ in range(rng.randrange(1, 4)):
                frame[rng.randrange(len(frame))] = rng.randrange(256)
            yield bytes(frame[: rng.randrange(len(frame) + 1)])
        elif draw < 0.3:
            yield rng.choice(["", "text", '{"type": "ShareUrlRequest"}'])
        elif draw < 0.35:
            yield rng.choice([b"\x91", b"\x81\xa4type", b"\xdf\xff\xff\xff\xff", b"\xdd\xff\xff\xff\xff"]) * rng.choice(
                [1, 50_000]
            )
        elif isinstance(message, dict) and message:
            changed = dict(message)
            for _ in range(rng.randrange(1, 3)):
                key = rng.choice([*message, "extra"])
                changed[key] = rng.choice(WRONG)
            if "updates" in message and rng.random() < 0.8:
                changed = message | {"updates": {rng.choice(["value", "value", "value", "props"]): rng.choice(WRONG)}}
            try:
                yield encode(changed)
            except (OverflowError, UnicodeEncodeError):
                continue
        else:
            yield encode(message)


def send_all(page, frames):
    """Send frames by as many connections as it takes."""
    frames = list(frames)
    while frames:
        with client(page) as connection:
            connection.send(encode(CAMERA))
            try:
                while frames:
                    connection.send(frames[-1])
                    frames.pop()
            except ConnectionClosed:
                if frames:
                    frames.pop()
