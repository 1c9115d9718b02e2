"""Import optional libraries only when they are asked for, quietly, and say what to install when one is missing."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any

from broadphase.errors import MissingExtraError


def load(module: str, distribution: str = "", extra: str = "bench") -> Any:
    """Import an optional module.

    Parameters
    ----------
    module : str
        Dotted name.
    distribution : str
        What ``pip install`` calls it; by default the module's name.
    extra : str
        The extra of this package that brings it.

    Raises
    ------
    MissingExtraError
        It is not installed; the message says how to get it.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # pygame greets on standard output when imported
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ImportError as error:
        name = distribution or module
        message = f"{name} is not installed: pip install 'broadphase[{extra}]' or pip install {name}"
        raise MissingExtraError(message) from error
