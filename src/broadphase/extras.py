"""The one place where optional libraries are imported."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from broadphase.errors import MissingExtraError


def import_extra(module: str, *, purpose: str, extra: str = "io", install: str | None = None) -> Any:
    """Import an optional library, or raise MissingExtraError, which says how to install it.

    `extra` is the extra of this package that brings it; `install` is what ``pip install`` takes instead. An error
    inside an installed library passes.

    >>> import_extra("no_such_library", purpose="reading .xyz files")
    Traceback (most recent call last):
    broadphase.errors.MissingExtraError: reading .xyz files needs no_such_library: pip install "broadphase[io]"
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != library:
            raise
        wanted = install or f'"broadphase[{extra}]"'
        raise MissingExtraError(f"{purpose} needs {library}: pip install {wanted}", name=error.name) from error


def has_library(module: str) -> bool:
    """Return True if a top-level module is installed, without importing it.

    >>> has_library("numpy"), has_library("no_such_library")
    (True, False)
    """
    return importlib.util.find_spec(module) is not None
