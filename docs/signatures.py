"""The public functions, classes and methods with their parameters, in order: a page of the reference.

Their order is `ORDER` of `broadphase.options`; tests/test_signatures.py checks it.
"""

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

from broadphase.index.queries import Queries

METHODS = FunctionType | classmethod | staticmethod
MODULES = (
    "broadphase",
    "broadphase.boxes",
    "broadphase.cameras",
    "broadphase.gpu",
    "broadphase.index",
    "broadphase.io",
    "broadphase.morton",
    "broadphase.narrow",
    "broadphase.points",
    "broadphase.robots",
    "broadphase.scale",
    "broadphase.scenes",
    "broadphase.shapes",
    "broadphase.testing",
    "broadphase.world",
)


def public_functions() -> Iterator[tuple[str, inspect.Signature]]:
    """Yield each public function, class and method once, where it is defined, with its signature."""
    seen = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", dir(module)):
            value = getattr(module, name)
            if inspect.ismodule(value) or not callable(value) or id(value) in seen:
                continue
            seen.add(id(value))
            path = f"{module_name}.{name}"
            if not inspect.isclass(value):
                yield path, inspect.signature(value)
                continue
            if not issubclass(value, tuple | Exception):
                yield path, inspect.signature(value)
            own = {**vars(Queries), **vars(value)} if Queries in value.__bases__ else vars(value)
            for method in sorted(own):
                if not method.startswith("_") and isinstance(own[method], METHODS):
                    yield f"{path}.{method}", inspect.signature(getattr(value, method))


def parameters_of(signature: inspect.Signature) -> tuple[list[str], list[str]]:
    """Return the parameters that may be given by position, and the options."""
    parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    options = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    return [p.name for p in parameters if p.name not in options], options


def write_page(path: Path) -> None:
    """Write the page as a table of reStructuredText."""
    lines = [
        "Signatures", "==========", "",
        "Every public function, class and method, with what it takes by position and its options, in order. Methods",
        "stand where they are defined: what ``BoxIndex`` has, each index has.", "",
        ".. list-table::", "   :header-rows: 1", "   :widths: 34 30 36", "",
        "   * - Name", "     - By position", "     - Options",
    ]  # fmt: skip
    for name, signature in public_functions():
        cells = [f"``{name.removeprefix('broadphase.')}``"]
        cells += [" ".join(f"``{one}``" for one in some) for some in parameters_of(signature)]
        lines += [f"   {'*' if number == 0 else ' '} - {cell}".rstrip() for number, cell in enumerate(cells)]
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")
