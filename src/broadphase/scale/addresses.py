"""Addresses of file systems, such as ``s3://bucket/boxes``, and what of them may be shown."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from broadphase.errors import clipped
from broadphase.io.extras import import_extra

__all__ = ["file_system", "is_address", "without_secrets"]

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"


def is_address(name: str) -> bool:
    """Return whether a name is an address; otherwise it is a path on this machine.

    Examples
    --------
    >>> is_address("s3://bucket/boxes"), is_address("boxes/*.parquet")
    (True, False)
    """
    return re.match(_SCHEME, name) is not None


def without_secrets(text: str) -> str:
    """Hide what stands before the host and behind the question mark of addresses: keys and passwords.

    Examples
    --------
    >>> without_secrets("s3://key:pass/word@host/boxes/a.parquet?token=7 is not there")
    's3://host/boxes/a.parquet is not there'
    """
    # With a colon before the host, a password that may hold slashes and "@".
    text = re.sub(rf"({_SCHEME})(?:[^/\s'\"@:]*:[^\s'\"]*@|[^/@\s'\"]*@)", r"\1", text)
    return re.sub(rf"({_SCHEME}[^\s?'\"]*)\?[^\s'\"]*", r"\1", text)


def file_system(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path there.

    Raises
    ------
    FileNotFoundError
        There is no such file system; names the address without its secrets.
    """
    fs = import_extra("pyarrow.fs", purpose="broadphase.scale", extra="scale")
    try:
        system, path = fs.FileSystem.from_uri(address)
    except (OSError, ValueError, ImportError) as error:  # errors of Arrow are of these
        shown = without_secrets(address)
        raise FileNotFoundError(f"{shown}: {clipped(_without(str(error), address))}") from None
    return system, path


def _without(message: str, address: str) -> str:
    """Hide the secrets of an address where a message tells parts of it."""
    start, _, query = address.partition("?")
    user, found, _ = start.partition("://")[2].rpartition("@")
    secrets = [*re.split(r"[:/@]", user if found else ""), *re.split(r"[=&]", query), query]
    message = without_secrets(message)
    for secret in sorted({*secrets, *map(unquote, secrets)}, key=len, reverse=True):
        if len(secret) > 3:
            message = message.replace(secret, "***")
    return message
