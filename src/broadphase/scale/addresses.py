"""Addresses of file systems, such as ``s3://bucket/boxes``, and which of their parts are secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from broadphase.errors import clipped
from broadphase.scale.columns import arrow

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["file_system", "is_address", "secrets_of", "without_secrets"]

_SHORT = 3  # characters of no secret
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"


def is_address(name: str) -> bool:
    """Return whether a name is an address; otherwise it is a path on this machine.

    >>> is_address("s3://bucket/boxes"), is_address("boxes/*.parquet")
    (True, False)
    """
    return re.match(_SCHEME, name) is not None


def without_secrets(text: str, secrets: Sequence[str] = ()) -> str:
    """Hide what stands before the host and behind the question mark of addresses, keys and passwords; and `secrets`.

    >>> without_secrets("s3://key:pass/word@host/boxes/a.parquet?token=7 is not there")
    's3://host/boxes/a.parquet is not there'
    """
    # With a colon before the host, a password that may hold slashes and "@".
    text = re.sub(rf"({_SCHEME})(?:[^/\s'\"@:]*:[^\s'\"]*@|[^/@\s'\"]*@)", r"\1", text)
    text = re.sub(rf"({_SCHEME}[^\s?'\"]*)\?[^\s'\"]*", r"\1", text)
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def secrets_of(address: str) -> list[str]:
    """Return what of an address must not be shown, as it stands there and decoded, the longest first.

    >>> secrets_of("s3://key:pass%2Fword@host/boxes?scheme=http")
    ['pass%2Fword', 'scheme=http', 'pass/word', 'scheme', 'http']
    """
    start, _, query = address.partition("?")
    user, found, _ = start.partition("://")[2].rpartition("@")
    parts = [*re.split("[:/@]", user if found else ""), *re.split("[=&]", query), query]
    every = dict.fromkeys([*parts, *map(unquote, parts)])
    return sorted((part for part in every if len(part) > _SHORT), key=len, reverse=True)


def file_system(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path there; errors name the address without its secrets."""
    fs = arrow("fs")
    try:
        system, path = fs.FileSystem.from_uri(address)
    except (OSError, ValueError, ImportError) as error:  # errors of Arrow are of these
        message = without_secrets(str(error), secrets_of(address))
        raise FileNotFoundError(f"{without_secrets(address)}: {clipped(message)}") from None
    return system, path
