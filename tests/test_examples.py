"""The examples run, and show what they say."""

import importlib.util
import json
import re
import time
from pathlib import Path

import pytest

import broadphase as bp

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def rectangles(monkeypatch):
    pytest.importorskip("pygame", reason="pygame-ce is not installed")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    specification = importlib.util.spec_from_file_location("rectangles_pygame", EXAMPLES / "rectangles_pygame.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_rectangles_in_a_window_move_and_turn_red(rectangles):
    import pygame

    world = rectangles.main(["--count", "400", "--frames", "3"])
    assert (world.number, len(world)) == (3, 400)
    picture = pygame.surfarray.array3d(pygame.display.get_surface())
    for colour in (rectangles.APART, rectangles.TOUCHING):
        assert (picture == colour).all(axis=2).sum() > 50
    pygame.quit()


def test_rectangles_leave_time_for_60_frames_a_second(rectangles):
    world = rectangles.make_world(5000)
    times = []
    for _ in range(20):
        begin = time.process_time()
        world.step(1.0)
        times.append(time.process_time() - begin)
    assert min(times[1:]) < 1 / 60


def test_rectangles_fit_in_60_lines():
    assert len((EXAMPLES / "rectangles_pygame.py").read_text("utf-8").splitlines()) < 60


def test_notebook_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    cells = json.loads((EXAMPLES / "first_steps.ipynb").read_text("utf-8"))["cells"]
    names = {}
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "commit it without outputs"
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    assert "pairs touch" in capsys.readouterr().out
    assert isinstance(names["index"], bp.Octree)
    assert (tmp_path / "first_steps.html").exists()
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("path", sorted((EXAMPLES / "recipes").glob("*.py")), ids=lambda path: path.stem)
def test_recipe_is_one_program_for_the_gallery_which_cuts_at_lines_of_number_signs(path):
    assert not re.search(r"^#{20,}", path.read_text("utf-8"), re.MULTILINE)
