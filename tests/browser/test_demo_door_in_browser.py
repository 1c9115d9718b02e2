"""A hostile page of another origin, in a browser, tries to use the demo; the demo's own page works."""

import http.server
import threading
from urllib.parse import urlsplit

import pytest

from watching import VIEWPORT

pytest.importorskip("viser", reason="the demo needs viser")

import viser

from broadphase.demo import start_demo

# Each attempt leaves what became of it. A message of viser would follow on a connection that opened.
ATTACK = """<!doctype html><title>attack</title><script>
window.outcomes = {};
function dial(name, url, protocols) {
    let socket;
    try { socket = new WebSocket(url, protocols); } catch (error) { outcomes[name] = "thrown"; return; }
    socket.onopen = () => { outcomes[name] = "open"; };
    socket.onerror = socket.onclose = () => { outcomes[name] ??= "refused"; };
}
const port = PORT, protocol = ["viser-vVERSION"];
for (const host of ["localhost", "127.0.0.1"]) {
    dial(`socket ${host}`, `ws://${host}:${port}`, protocol);
    dial(`plain ${host}`, `ws://${host}:${port}/`);
    fetch(`http://${host}:${port}/`).then(
        reply => reply.text().then(text => { outcomes[`fetch ${host}`] = "read " + reply.status; }),
        () => { outcomes[`fetch ${host}`] = "refused"; });
}
const frame = document.createElement("iframe");
frame.src = `http://localhost:${port}/`;
document.documentElement.append(frame);
</script>"""


@pytest.fixture(scope="module", params=["127.0.0.1", "0.0.0.0"])
def demo(request):
    page = start_demo("rectangles", count=50, host=request.param)
    yield page
    page.stop()


@pytest.fixture
def hostile(demo):
    """A server of another origin, whose page attacks the demo."""
    port = urlsplit(demo.url).port
    body = ATTACK.replace("PORT", str(port)).replace("VERSION", viser.__version__).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()


def clients_of(demo, page):
    """How many pages the demo serves. On a busy machine a page may be about to connect again: it is waited for."""
    for _ in range(600):
        if demo._server.get_clients():
            break
        page.wait_for_timeout(100)
    return len(demo._server.get_clients())


def test_page_of_another_origin_cannot_use_the_demo(demo, hostile, browser):
    # The names of the attacker's pages: another port of this machine, and a name that resolves to it (rebinding).
    context = browser.new_context(viewport=VIEWPORT)
    try:
        own = context.new_page()
        own.goto(demo.url)
        own.wait_for_function("document.getElementById('bp-hits')?.innerText", timeout=120_000)  # it has the cookie
        assert clients_of(demo, own) == 1
        for name in ("localhost", "127.0.0.1"):
            page = context.new_page()
            page.goto(f"http://{name}:{hostile}/")
            page.wait_for_function("Object.keys(outcomes).length == 6", timeout=120_000)
            outcomes = page.evaluate("outcomes")
            assert set(outcomes.values()) == {"refused"}, outcomes
            framed = page.frames[1]
            framed.wait_for_load_state()
            assert not framed.url.startswith("http"), framed.url  # the browser shows an error in its place
            assert clients_of(demo, own) == 1
    finally:
        context.close()


def test_page_under_a_rebound_name_cannot_use_the_demo(demo, browser_of):
    port = urlsplit(demo.url).port
    with browser_of("--host-resolver-rules=MAP evil.example 127.0.0.1") as rebound:
        page = rebound.new_page()
        reply = page.goto(f"http://evil.example:{port}/")
        assert reply.status in (403, 421)
        opened = page.evaluate(
            """([port, version]) => new Promise(done => {
                const socket = new WebSocket(`ws://evil.example:${port}`, [`viser-v${version}`]);
                socket.onopen = () => done("open");
                socket.onerror = () => done("refused");
            })""",
            [port, viser.__version__],
        )
        assert opened == "refused"
        assert not demo._server.get_clients()
