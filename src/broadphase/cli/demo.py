"""The command ``broadphase demo``: a live page in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from broadphase.cli.interrupt import asking_to_stop
from broadphase.cli.options import MethodOption
from broadphase.cli.screen import print_facts

_POLL = 0.2  # seconds between two checks for Ctrl-C


def demo(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help="A scene of --list, or a scene file.")] = "rectangles",
    method: MethodOption = "auto",
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="Number of bodies.")] = None,
    mesh: Annotated[Path | None, typer.Option("--mesh", help="Show the triangles of a mesh file.")] = None,
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65535, help="0: any free port.")] = 0,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; 0.0.0.0 admits other machines.")
    ] = "127.0.0.1",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, open no browser.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List the scenes and exit.")] = False,
) -> None:
    """Show a live page in the browser: a moving world, and what each step costs. Needs the extra demo.

    Scenes, methods and queries are chosen on the page. Ctrl-C stops it.

    For example:

    - `broadphase demo`

    - `broadphase demo clusters --method octree --count 10000`

    - `broadphase demo --mesh bunny.stl`

    - `broadphase demo my_scene.toml --port 8080 --no-browser`
    """
    from broadphase.demo import start_demo
    from broadphase.demo.meshes import read_triangles
    from broadphase.demo.scenes import SCENES

    if list_all:
        print_facts("Scenes", [(one.name, f"{one.title}. {one.text}") for one in SCENES])
        return
    triangles = None if mesh is None else read_triangles(mesh.name, mesh.read_bytes())
    name = scene if triangles is None else "mesh"
    with asking_to_stop() as is_asked:
        page = start_demo(name, method=method, count=count, host=host, port=port, mesh=triangles)
        try:
            typer.echo(f"The demo is at {page.url} . Ctrl-C stops it.")
            if not no_browser:
                webbrowser.open(page.url)
            while not is_asked() and not page.wait(_POLL):
                pass
        finally:
            page.stop()
    typer.echo("Stopped.")
