"""How an adapter imports the library that it stands in for."""

from __future__ import annotations

from typing import Any

from broadphase.extras import import_extra


def import_library(module: str, *, install: str, purpose: str | None = None) -> Any:
    """Import the library that an adapter stands in for, or say how to install it.

    Parameters
    ----------
    module : str
        Dotted name of the module, such as "pygame.sprite".
    install : str
        What ``pip install`` takes.
    purpose : str, optional
        What needs it. Default: the adapter.

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
    adapter = f"broadphase.adapters.{module.partition('.')[0]}"
    return import_extra(module, purpose=purpose or adapter, install=install)
