"""Who may connect to the demo, what they may send, and that nothing they send stops the page."""

import dataclasses
import io
import json
import random
import re
import socket
import struct
import threading
import time
import zipfile
from collections import deque
from contextlib import ExitStack, suppress
from itertools import islice
from types import SimpleNamespace
from urllib.parse import parse_qs, parse_qsl, urlsplit

import numpy as np
import pytest

pytest.importorskip("viser")
pytest.importorskip("trimesh")

import viser
import websockets.asyncio.server
from viser import _messages
from websockets.exceptions import ConnectionClosed, InvalidStatus

import broadphase as bp
from broadphase.demo import SCENES, Simulation, door as doors, mesh_files, messages, start_demo
from broadphase.demo.link import Link, read_link, write_link
from broadphase.demo.mesh_files import read_mesh_file
from broadphase.demo.meshes import ball
from broadphase.errors import FileFormatError
from broadphase.methods import METHOD_NAMES
from demo_clients import (
    CAMERA,
    CLICK,
    DRAG,
    HAND,
    PATIENCE,
    PROTOCOL,
    assert_runs,
    client,
    encode,
    hostile_frames,
    port_of,
    send_all,
    until,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def page():
    page = start_demo("rectangles", count=100)
    yield page
    page.stop()


@pytest.fixture(scope="module")
def open_page():
    """A page that other machines can reach."""
    page = start_demo("rectangles", count=20, host="0.0.0.0")
    yield page
    page.stop()


def request_of(lines, path="/"):
    return "".join(f"{line}\r\n" for line in (f"GET {path} HTTP/1.1", *lines, "")).encode("latin-1")


def ask(page, lines, path="/"):
    """Send a request by hand; return the status of the reply, its headers and its body."""
    with socket.create_connection(("127.0.0.1", port_of(page)), timeout=PATIENCE) as plain:
        plain.sendall(request_of(lines, path))
        reply = bytearray()
        while b"\r\n\r\n" not in reply and (block := plain.recv(1 << 16)):
            reply += block
    if not reply:
        return 0, "", b""
    head, _, body = bytes(reply).partition(b"\r\n\r\n")
    return int(head.split()[1]), head.decode("latin-1"), body


UPGRADE = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    f"Sec-WebSocket-Protocol: {PROTOCOL}",
)


def test_door_lets_only_its_own_page_connect(page):
    port = port_of(page)
    own = [f"localhost:{port}", f"127.0.0.1:{port}", "localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:9"]
    foreign = ["evil.example", f"evil.example:{port}", f"localhost.evil.example:{port}", f"192.168.1.2:{port}", ""]
    foreign += [f"127.0.0.1.nip.io:{port}", f"localhost:{port}@evil.example", "0.0.0.0", "localhost:x", "[::2]"]
    for host in own:
        origins = {f"http://{host}": True, f"https://{host}": True, "": False, "null": False}
        origins |= {f"http://{other}": False for other in own if other.lower() != host.lower()}
        origins |= {f"http://{other}": False for other in foreign} | {f"http://{host}.evil.example": False}
        for origin, allowed in origins.items():
            lines = [f"Host: {host}", *UPGRADE, *([f"Origin: {origin}"] if origin else [])]
            assert ask(page, lines)[0] == (101 if allowed else 403), (host, origin)
        assert ask(page, [f"Host: {host}"])[0] == 200
    for host in foreign:
        for lines in ([f"Host: {host}"], [f"Host: {host}", *UPGRADE, f"Origin: http://{host}"]):
            assert ask(page, lines)[0] == 421, host
    good = [f"Host: localhost:{port}", f"Origin: http://localhost:{port}"]
    assert ask(page, [*UPGRADE, *good[1:]])[0] in (400, 421)
    for second in ("Host: evil.example", "Origin: http://evil.example", "Upgrade: h2c"):
        assert ask(page, [*good, *UPGRADE, second])[0] in (400, 500), second
    assert ask(page, [*good, *UPGRADE], path="/other")[0] == 403
    assert ask(page, [*good, *UPGRADE[:-1], "Sec-WebSocket-Protocol: viser-v0.0.1"])[0] == 400
    assert ask(page, [*good, *UPGRADE, "Sec-Fetch-Site: cross-site"])[0] == 403
    assert_runs(page)


def test_address_with_options_of_viser_is_refused(page):
    host = f"Host: localhost:{port_of(page)}"
    for query in ("websocket=ws://evil.example", "playbackPath=https://evil.example/a", "darkMode", "a=1&token=2"):
        assert ask(page, [host], path=f"/?{query}")[0] == 400, query
    status, head, _ = ask(page, [host])
    assert status == 200
    assert "frame-ancestors 'none'" in head
    assert "Referrer-Policy: no-referrer" in head


def test_link_opens_scene_method_and_settings_for_all(page):
    host = f"Host: localhost:{port_of(page)}"
    wanted = "scene=clusters&method=octree&count=150&size=2&speed=0.5&settings=leaf_capacity%3D2+looseness%3D1.5"
    assert ask(page, [host, "Sec-Fetch-Dest: image"], path=f"/?{wanted}")[0] == 200  # a picture in another page
    assert ask(page, [host, "Sec-Fetch-Dest: document"], path="/?method=grid")[0] == 200
    until(lambda: page.simulation.method == "grid")
    assert page.simulation.scene.name == "rectangles"
    assert ask(page, [host, "Sec-Fetch-Dest: document"], path=f"/?{wanted}")[0] == 200
    until(lambda: page.simulation.scene.name == "clusters" and page.simulation.speed == 0.5)
    simulation = page.simulation
    assert (simulation.count, simulation.size) == (150, 2.0)
    assert simulation.method == bp.Octree.options(leaf_capacity=2, looseness=1.5)
    assert dict(parse_qsl(urlsplit(page.link).query)) == dict(parse_qsl(wanted))
    until(lambda: page.controls.method.value == "octree" and page.controls.cells.value)
    assert page.controls.settings.value == "leaf_capacity=2 looseness=1.5"
    stage = simulation.stage
    assert ask(page, [host], path=f"/?{urlsplit(page.link).query}")[0] == 200
    assert ask(page, [host], path="/?speed=1")[0] == 200
    until(lambda: simulation.speed == 1.0)
    assert simulation.stage is stage  # what is shown already does not begin again
    assert ask(page, [host], path="/?scene=rectangles&method=auto&count=100&size=1")[0] == 200
    until(lambda: simulation.scene.name == "rectangles" and simulation.method == "auto")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("scene=sphere", "did you mean 'spheres'"),
        ("scene=/etc/passwd", "unknown scene"),
        ("scene=scene.toml", "unknown scene"),
        ("scene=", "unknown scene"),
        ("method=octre", "did you mean 'octree'"),
        ("method=<script>", "unknown method"),
        ("method=octree&settings=workers%3D64", "does not offer this setting"),
        ("method=octree&settings=__class__%3D1", "__class__"),
        ("method=linear_tree&settings=storage%3Dflat+depth%3D12", "at most 7 levels"),
        ("method=auto&settings=depth%3D3", "unknown setting 'depth'"),
        ("scene=spheres&count=20001", "count must be a number from 2 to 20,000"),
        *(
            (f"count={text}", "count must be")
            for text in ("", "0", "-5", "1e3", "0x10", "5.0", "9" * 5000, "%D9%A3%D9%A3")
        ),
        *((f"size={text}", "size must be") for text in ("", "0", "9", "nan", "inf", "1e0", "%2B1", "%201")),
        *((f"speed={text}", "speed must be") for text in ("-1", "4.1", "NaN", "Infinity")),
        ("count=5&count=6", "malformed"),
        ("scene", "malformed"),
        ("scene=spheres&playbackPath=a", "it knows scene, method"),
    ],
)
def test_link_with_anything_else_is_refused_and_changes_nothing(page, query, reason):
    before = page.link, page.simulation.stage
    status, _, body = ask(page, [f"Host: localhost:{port_of(page)}"], path=f"/?{query}")
    assert status == 400
    assert re.search(reason, body.decode())
    assert len(body) < 400
    assert_runs(page)
    assert (page.link, page.simulation.stage) == before


def test_link_is_read_back_for_every_scene_and_method():
    for scene in SCENES:
        for method in (*METHOD_NAMES, bp.LinearTree.options(tuning="origin"), bp.SweepAndPrune.options(axis=(1, 0, 1))):
            there = Simulation("rectangles", count=10)
            here = SimpleNamespace(scene=scene, method=method, count=scene.counts[0] + 1, size=0.3, speed=2.0)
            link = read_link(dict(parse_qsl(write_link(here), strict_parsing=True)), there)
            assert link == Link(scene, method, here.count, 0.3, 2.0)
    there.scene = dataclasses.replace(there.scene, name="hall.toml")
    assert "hall" not in write_link(there)
    assert read_link({}, there) == Link(there.scene, "auto", 10, 1.0, 1.0)


def test_only_files_of_the_page_are_served(page):
    host = f"Host: localhost:{port_of(page)}"
    assert ask(page, [host], path="/index.html")[0] == 200
    ups = ["..", "%2e%2e", "%2E.", ".%2e", "..%5c", "%2e%2e%2f%2e%2e"]
    paths = [
        f"/{'/'.join([up] * depth)}/{name}" for up in ups for depth in (1, 5) for name in ("setup.py", "etc/passwd")
    ]
    paths += [
        "//etc/passwd",
        "/C:/Windows/win.ini",
        "/C%3a/Windows/win.ini",
        "/index.html%00",
        "/%00",
        "/a%0d%0ab",
        "/x",
    ]
    paths += ["/etc/passwd", "/%2fetc%2fpasswd", "http://evil.example/../../etc/passwd", "/" + "a" * 5000]
    for path in paths:
        status, _, body = ask(page, [host], path=path)
        assert status in (0, 400, 404), path
        assert b"root:" not in body
    assert_runs(page)


def test_page_for_other_machines_requires_its_token(open_page):
    address = urlsplit(open_page.url)
    token = parse_qs(address.query)["token"][0]
    assert len(token) >= 32
    for host in (f"localhost:{address.port}", "some.name.example"):
        lines = [f"Host: {host}"]
        dial = [*lines, *UPGRADE, f"Origin: http://{host}"]
        for wrong in ("", "?token=", "?token=x", f"?token={token}x", f"?token={token[:-1]}", "?token=%ff"):
            assert ask(open_page, lines, path=f"/{wrong}")[0] == 403
            assert ask(open_page, dial, path=f"/{wrong}")[0] == 403
        status, head, _ = ask(open_page, lines, path=f"/?token={token}")
        assert status == 200
        cookie = next(line for line in head.splitlines() if line.lower().startswith("set-cookie:")).partition(": ")[2]
        assert {"HttpOnly", "SameSite=Strict"} <= {part.strip() for part in cookie.split(";")}
        with_cookie = f"Cookie: other=1; {cookie.partition(';')[0]}"
        assert ask(open_page, [*dial, with_cookie])[0] == 101
        assert ask(open_page, [*lines, *UPGRADE, "Origin: http://evil.example", with_cookie])[0] == 403
    with pytest.raises(InvalidStatus), client(open_page):
        pass


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("localhost", True), ("127.8.9.1", True), ("0.0.0.0", False), ("192.0.2.1", False)],
)
def test_only_addresses_of_this_machine_go_without_a_token(host, expected):
    assert doors.is_local(host) == expected
    assert (doors.Door(host, print, print).token is None) == expected


def test_share_request_opens_no_tunnel(page, monkeypatch):
    tunnels = []
    monkeypatch.setattr("viser._viser.ViserTunnel", lambda *arguments, **_: tunnels.append(arguments))
    with client(page) as connection:
        connection.send(encode(CAMERA))
        for name in ("ShareUrlRequest", "ShareUrlDisconnect"):
            connection.send(encode({"type": name}))
        connection.send(encode(CLICK))
        until(lambda: "The ray hit" in page.controls.answer.content)
    assert not tunnels
    with pytest.raises(PermissionError):
        page._server.request_share_url()
    page._server._websock_server._incoming_handlers[_messages.ShareUrlRequest][0](0, _messages.ShareUrlRequest())
    time.sleep(0.2)
    assert not tunnels
    assert page._server._share_tunnel is None


def test_messages_have_the_fields_of_viser():
    for name, struct_type in messages._KNOWN.items():
        theirs = {field.name for field in dataclasses.fields(getattr(_messages, name)) if field.init}
        assert set(struct_type.__struct_fields__) == theirs, name


def test_viser_that_serves_in_another_way_is_not_used(monkeypatch):
    serve = websockets.asyncio.server.serve
    with pytest.raises(RuntimeError, match="cannot check who connects"), doors.Door("127.0.0.1", print, print).open():
        assert websockets.asyncio.server.serve is not serve
    assert websockets.asyncio.server.serve is serve
    stopped = []
    monkeypatch.setattr(viser.ViserServer, "__init__", lambda *_, **__: None)
    monkeypatch.setattr(viser.ViserServer, "stop", lambda _: stopped.append(True))
    with pytest.raises(RuntimeError, match="cannot check who connects"):
        start_demo("rectangles", count=5)
    assert stopped


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_hostile_messages_do_not_stop_the_page(page, capfd):
    send_all(page, islice(hostile_frames(page, random.Random(11)), 200))
    assert_runs(page)
    controls = page.controls
    page.request("nothing", lambda: None)
    until(lambda: controls.count.min <= controls.count.value <= controls.count.max)
    assert controls.scene.value in controls.scene.options
    assert "\x1b" not in "".join(capfd.readouterr())
    assert not page.wait(0.0)


def test_hand_of_a_page_that_is_closed_lets_go(page):
    page.controls.pause.value = True
    until(lambda: page.simulation.paused)
    with client(page) as connection:
        connection.send(encode(CAMERA))
        for phase in ("start", "update"):
            connection.send(encode(HAND | {"phase": phase}))
        until(lambda: page._pointing.held_row() == 3)
        connection.send(encode(HAND | {"instance_index": 10**6}))
        until(lambda: page._pointing.held_row() is None)
        for phase in ("start", "update"):
            connection.send(encode(HAND | {"phase": phase}))
        until(lambda: page._pointing.held_row() == 3)
    until(lambda: page._pointing.held_row() is None)
    page.controls.pause.value = False
    assert_runs(page)


def test_control_set_to_what_the_page_does_not_offer_is_put_back(page):
    controls = page.controls
    for element, values in (
        (controls.count, (10**9, -5, 0)),
        (controls.size, (1e8, -1.0, 0.0)),
        (controls.scene, ("no such scene",)),
        (controls.method, ("no such method",)),
    ):
        for value in values:
            with client(page) as connection:
                connection.send(encode(CAMERA))
                message = {"type": "GuiUpdateMessage", "uuid": element._impl.uuid, "updates": {"value": value}}
                connection.send(encode(message))
                connection.send(encode(CLICK))
                until(lambda element=element, value=value: element.value != value and not page._requests)
    assert_runs(page)
    controls.size.value, controls.count.value, controls.scene.value = 1.0, 100, "1000 rectangles"


def test_huge_frames_and_floods_do_not_stop_the_page(page):
    with client(page) as connection:
        connection.send(bytes(8 << 20))
        with suppress(ConnectionClosed):
            deque(connection, maxlen=0)
        assert connection.close_code == 1009
    stop = threading.Event()

    def flood():
        with client(page, close_timeout=0.1) as connection:
            while not stop.is_set():
                try:
                    for message in (CAMERA, CLICK, DRAG):
                        connection.send(encode(message))
                except ConnectionClosed:
                    return

    threads = [threading.Thread(target=flood, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert_runs(page)
        until(lambda: not page._door.pages)  # they are disconnected
    finally:
        stop.set()
    assert_runs(page)


def test_slow_silent_and_many_connections_do_not_stop_the_page(page):
    port = port_of(page)
    with ExitStack() as stack:
        request = request_of([f"Host: localhost:{port}", *UPGRADE, f"Origin: http://localhost:{port}"])
        for sent in [b""] * 20 + [b"GET / HT"] * 20 + [request] * 6:
            plain = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            plain.sendall(sent)  # and read nothing
        assert_runs(page)
    until(lambda: not page._door.pages)


def test_more_pages_than_allowed_are_refused(page, monkeypatch):
    until(lambda: not page._door.pages)
    monkeypatch.setattr(doors, "MOST_PAGES", 3)
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(client(page)).recv(timeout=PATIENCE)
        with pytest.raises(InvalidStatus, match="503"), client(page):
            pass
    until(lambda: not page._door.pages)
    assert_runs(page)


def upload(page, name, content, size=None, part=512 << 10):
    """Send a file as the page does; return what the page then says."""
    page.controls.say("waiting")
    size = len(content) if size is None else size
    names = {"source_component_uuid": page.controls.mesh._impl.uuid, "transfer_uuid": f"transfer {name} {size}"}
    with client(page) as connection:
        connection.send(encode(CAMERA))
        begin = {"type": "FileTransferStartUpload", "filename": name, "mime_type": "", **names}
        connection.send(encode(begin | {"part_count": -(-size // part), "size_bytes": size}))
        for number in range(-(-len(content) // part)):
            block = content[number * part : (number + 1) * part]
            connection.send(encode({"type": "FileTransferPart", "part_index": number, "content": block} | names))
        # A new scene first brings back the line that is shown while nothing else is said.
        until(lambda: not any(text in page.controls.answer.content for text in ("waiting", "Click a body")))
    return page.controls.answer.content


def zip_bomb():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("bomb.stl", bytes(1 << 20))
    return stream.getvalue()


def glb(tree, block=b""):
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    block += bytes(-len(block) % 4)
    parts = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(block), b"BIN\0") + block
    return b"glTF" + struct.pack("<II", 2, 12 + len(parts)) + parts


def glb_of_instances(count):
    block = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "<f4").tobytes()
    return glb(
        {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": list(range(count))}],
            "nodes": [{"mesh": 0, "translation": [number, 0, 0]} for number in range(count)],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
            "accessors": [
                {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0] * 3, "max": [1, 1, 0]}
            ],
            "bufferViews": [{"buffer": 0, "byteLength": len(block)}],
            "buffers": [{"byteLength": len(block)}],
        },
        block,
    )


def glb_of_a_huge_accessor():
    return glb(
        {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
            "accessors": [{"componentType": 5126, "count": 3 * 10**8, "type": "VEC3", "min": [0] * 3, "max": [1] * 3}],
        }
    )


def same_triangles(count):
    record = np.zeros(count, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")]))
    record["corners"] = [[0, 0, 0], [1, 0, 0], [0, 1, 1]]
    return bytes(80) + struct.pack("<I", count) + record.tobytes()


def small_ply(corner):
    """A triangle with the corners 0, 1 and another one, of three vertices."""
    head = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    head += "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    return f"{head}0 0 0\n1 0 0\n0 1 0\n3 0 1 {corner}\n".encode()


HOSTILE_FILES = {
    "bomb.zip": zip_bomb,
    "bomb.stl": zip_bomb,
    "instances.glb": lambda: glb_of_instances(12_000),
    "accessor.glb": glb_of_a_huge_accessor,
    "nested.glb": lambda: b"glTF\x02\0\0\0" + struct.pack("<II4s", 100_020, 100_000, b"JSON") + b"[" * 100_000,
    "header.stl": lambda: bytes(80) + b"\xff" * 4 + bytes(500),
    "same.stl": lambda: same_triangles(30_000),
    "header.ply": lambda: (
        b"ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty float x\nend_header\n"
    ),
    "before.ply": lambda: small_ply(-1),
    "beyond.ply": lambda: small_ply(3),
    "header.obj": lambda: b"f 1 2 999999999999\n",
    "scene.gltf": lambda: b'{"buffers": [{"uri": "file:///etc/passwd"}]}',
    "../../etc/x.dae": lambda: b"<x/>",
    "model": lambda: b"solid",
    "empty.stl": lambda: b"",
    "name\x1b[31m.zip": lambda: b"PK",
}


@pytest.fixture
def here(monkeypatch):
    """Parse files in this process: starting another takes a second."""
    monkeypatch.setattr(mesh_files, "_ask_process", lambda _, suffix, content: mesh_files._answer(suffix, content))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_hostile_file_is_refused(name):
    with pytest.raises(FileFormatError) as caught:
        read_mesh_file(name, HOSTILE_FILES[name]())
    assert len(str(caught.value)) < 500
    assert "\x1b" not in str(caught.value)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("suffix", ["stl", "obj", "ply", "glb"])
def test_mesh_file_of_each_format_is_read(suffix):
    import trimesh

    vertices, faces = ball(1)
    content = trimesh.Trimesh(vertices, faces).export(file_type=suffix)
    mesh = read_mesh_file(f"ball.{suffix.upper()}", content.encode() if isinstance(content, str) else content)
    assert len(mesh.faces) == len(faces)
    there = np.sort(mesh.vertices[mesh.faces].reshape(-1, 3).round(4), axis=0)
    np.testing.assert_allclose(there, np.sort(vertices[faces].reshape(-1, 3).round(4), axis=0), atol=1e-3)


@pytest.mark.usefixtures("here")
def test_ply_file_as_text_is_read():
    mesh = read_mesh_file("small.ply", small_ply(2))
    assert sorted(mesh.vertices[mesh.faces][0].tolist()) == [[0, 0, 0], [0, 1, 0], [1, 0, 0]]


@pytest.mark.usefixtures("here")
def test_mesh_file_of_more_triangles_than_are_shown_is_refused(monkeypatch):
    monkeypatch.setattr(mesh_files, "MOST_TRIANGLES", 5)
    for content in (same_triangles(6), glb_of_instances(6)):
        with pytest.raises(FileFormatError, match=r"at most 5|more than the demo can show"):
            read_mesh_file("six.stl" if content[:4] != b"glTF" else "six.glb", content)


def test_mesh_file_is_read_in_a_process_of_its_own():
    mesh = read_mesh_file("one.stl", same_triangles(1))
    assert mesh.vertices[mesh.faces[0]].tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 1]]


def test_file_that_takes_too_long_ends_its_process(monkeypatch):
    slow = "f 1 2 3\n" * 2_000_000
    monkeypatch.setattr(mesh_files, "_SECONDS", 0.05)
    with pytest.raises(FileFormatError, match="took more than"):
        read_mesh_file("slow.obj", slow.encode())


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="Windows has no limit of memory")
def test_process_that_reads_a_file_has_its_limits():
    import subprocess
    import sys

    program = (
        "import numpy, resource, tempfile; from broadphase.demo import mesh_files as m\n"
        "file = tempfile.TemporaryFile(buffering=0); m._limit()\n"
        "print(resource.getrlimit(resource.RLIMIT_CPU)[1] == m._SECONDS)\n"
        "try: print(len(numpy.ones(m._MEMORY // 8)))\n"
        "except MemoryError: print('refused')\n"
        "try: print(file.write(b'x'))\n"
        "except OSError: print('no file')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    expected = ["True", "refused", "no file"] if sys.platform == "linux" else ["True"]
    assert done.stdout.split("\n")[: len(expected)] == expected


@pytest.mark.usefixtures("here")
def test_uploads_are_checked_before_they_are_kept(page):
    good = same_triangles(1)
    assert "1 triangles" in upload(page, "one.stl", good)
    assert "reads .stl, .obj, .ply, .glb files" in upload(page, "bomb.zip", zip_bomb())
    assert "at most 32 MB" in upload(page, "big.stl", b"x", size=33 << 20)
    assert "&lt;b&gt;.zip" in upload(page, "<b>.zip", b"x")
    assert "empty" in upload(page, "empty.stl", b"")
    assert "not a .stl file" in upload(page, "bad.stl", b"x" * 700_000)
    assert not page._server.gui._current_file_upload_states
    assert "1 triangles" in upload(page, "again.stl", good)
    page.controls.scene.value = "1000 rectangles"
    until(lambda: page.simulation.scene.name == "rectangles")
    assert_runs(page)


def test_parts_beyond_the_size_or_of_unknown_files_are_not_kept(page):
    names = {"source_component_uuid": page.controls.mesh._impl.uuid, "transfer_uuid": "t"}
    with client(page) as connection:
        connection.send(encode(CAMERA))
        begin = {"type": "FileTransferStartUpload", "filename": "a.stl", "mime_type": "", **names}
        connection.send(encode(begin | {"part_count": 1, "size_bytes": 10}))
        for number in range(8):
            part = {"type": "FileTransferPart", "part_index": number, "content": bytes(500_000)}
            connection.send(encode(part | names))
            connection.send(encode(part | names | {"transfer_uuid": f"unknown {number}"}))
        connection.send(encode(CLICK))
        states = page._server.gui._current_file_upload_states
        until(lambda: not page._requests)
        kept = sum(len(block) for state in states.values() for block in state["parts"].values())
        assert kept <= 10
    until(lambda: not page._door.pages and not states)


def test_out_of_memory_starts_the_scene_again(page, monkeypatch):
    simulation = page.simulation
    tick, failed = simulation.tick, []

    def fail_once():
        if not failed:
            failed.append(True)
            raise MemoryError
        return tick()

    monkeypatch.setattr(simulation, "tick", fail_once)
    until(lambda: "Out of memory" in page.controls.answer.content)
    monkeypatch.undo()
    assert_runs(page)


def test_bug_in_a_request_is_reported_and_does_not_stop_the_page(page, capsys):
    page.request("bug", lambda: {}["no such key"])
    until(lambda: "a bug in broadphase" in page.controls.answer.content)
    assert "KeyError" in capsys.readouterr().err
    assert_runs(page)
    page._load(SimpleNamespace(name="<i>.stl", content=b"?"))
    until(lambda: "&lt;i&gt;.stl" in page.controls.answer.content)
