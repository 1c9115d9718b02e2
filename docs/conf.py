"""Settings of the documentation site: ``make docs`` builds it into build/site, without a network.

The pages are the Markdown files of this folder; the recipes are the programs of ``examples/recipes``, which run while
the site is built; the reference is made from the docstrings. A warning is an error.
"""

import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import matplotlib
from sphinx.application import Sphinx

import broadphase
from broadphase.recording import save_replay

matplotlib.use("Agg")
HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))
from signatures import write_page  # noqa: E402

project = "broadphase"
author = project_copyright = "The broadphase developers"
version = release = broadphase.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
templates_path = ["templates"]
exclude_patterns = ["recipes/*.ipynb", "recipes/*.py", "recipes/*.json", "recipes/sg_execution_times.rst"]
if not all(find_spec(name) for name in dir(broadphase.adapters)):
    # Some libraries have no wheels for the newest Python, and a drop-in imports only where its library is.
    exclude_patterns.append("api/adapters.rst")
    suppress_warnings = ["toc.excluded"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # types and defaults stand in the docstrings
numpydoc_show_class_members = False
# Names that differ only by case get files that do not.
autosummary_filename_map = {
    f"broadphase.{name}": f"broadphase.{name}_class" for name in ("Clashes", "Clearances", "Contacts", "Neighbors")
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/recipes"],
    "gallery_dirs": ["recipes"],
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,  # no times: they would be those of the machine that built the site
}

html_theme = "furo"
html_title = "broadphase"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["../build/site_files"]
html_show_sourcelink = False

ROOT_PAGES = r"\]\((?:\.\./)*(ARCHITECTURE|CONTRIBUTING|CHANGELOG|SECURITY)\.md"


def redirect_links(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Point links to files outside of this folder, which readers of the repository follow, to pages of the site."""
    text = source[0]
    if docname.startswith("project/"):
        text = (HERE.parent / f"{docname.removeprefix('project/').upper()}.md").read_text("utf-8")
    text = re.sub(ROOT_PAGES, lambda match: f"](/project/{match[1].lower()}.md", text)
    text = re.sub(r"\]\((?:\.\./)+README\.md\)", "](/index.md)", text)
    text = re.sub(r"\]\((?:\.\./)+examples/recipes\)", "](/recipes/index.rst)", text)
    source[0] = text.replace("\n\n```\n", "\n```\n")  # doctest needs an empty line there, readers do not


def make_replays(_app: Sphinx) -> None:
    """Record the scenes that pages show in motion."""
    folder = HERE.parent / "build/site_files/replays"
    folder.mkdir(parents=True, exist_ok=True)
    for scene, steps in (("bouncing_spheres", 240), ("machine_gun", 240), ("bouncing_rectangles", 200)):
        save_replay(scene, folder / f"{scene}.html", steps=steps)


def write_index_classes(_app: Sphinx) -> None:
    """List the index class of each method on a page of the reference."""
    names = "".join(f"   {method.index_class}\n" for method in broadphase.METHODS)
    head = "One class each method\n=====================\n\n.. currentmodule:: broadphase\n\n"
    list_head = ".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n"
    (HERE / "api/index_classes.rst").write_text(head + list_head + names, "utf-8")


def take_playground(_app: Sphinx) -> None:
    """Put the playground beside the pages; without its core, which `make playground` compiles, it says so."""
    folder = HERE.parent / "build/site_files/playground"
    folder.mkdir(parents=True, exist_ok=True)
    for path in (HERE / "playground/index.html", HERE.parent / "build/playground/broadphase.wasm"):
        if path.exists():
            shutil.copy(path, folder)


def setup(app: Sphinx) -> None:
    """Connect the functions above."""
    app.connect("config-inited", lambda app, _config: make_replays(app))
    app.connect("config-inited", lambda app, _config: take_playground(app))
    app.connect("config-inited", lambda app, _config: write_index_classes(app))
    app.connect("config-inited", lambda _app, _config: write_page(HERE / "api/signatures.rst"))
    app.connect("source-read", redirect_links)
