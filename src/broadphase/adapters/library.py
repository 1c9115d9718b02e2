"""How an adapter imports the library that it stands in for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from broadphase.errors import MissingExtraError


def import_library(module: str, *, install: str) -> Any:
    """Import the library that an adapter stands in for, or say how to install it.

    Parameters
    ----------
    module : str
        Dotted name of the module, such as "pygame.sprite".
    install : str
        What ``pip install`` takes.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    MissingExtraError
        It is not installed. An error inside an installed library passes as it is.

    Examples
    --------
    >>> import_library("no_such_library", install="no-such-library")
    Traceback (most recent call last):
    broadphase.errors.MissingExtraError: broadphase.adapters.no_such_library needs no_such_library: pip install
    no-such-library
    """
    library = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != library:
            raise
        raise MissingExtraError(
            f"broadphase.adapters.{library} needs {library}: pip install {install}", name=error.name
        ) from error
