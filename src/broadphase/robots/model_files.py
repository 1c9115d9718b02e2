"""Files that describe robots: errors that name the file, and XML with the line of each element."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from broadphase.errors import FileFormatError, UnsupportedQueryError, clipped, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Element", "file_of", "naming_file", "read_xml"]


def file_of(source: Any) -> str | None:
    """Return the path of a file, which must exist, or None for what is no path."""
    if not isinstance(source, str | os.PathLike):
        return None
    path = os.fsdecode(source)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {quoted(path)}")
    return path


@contextmanager
def naming_file(source: Any) -> Iterator[None]:
    """Let what is wrong with the content of a file be a FileFormatError that names the file.

    Errors pass unchanged if `source` is no path.

    >>> with naming_file("arm.urdf"):
    ...     raise ValueError("link 'hand' hangs on itself, over its parents")
    Traceback (most recent call last):
    broadphase.errors.FileFormatError: arm.urdf: link 'hand' hangs on itself, over its parents
    """
    try:
        yield
    except (ValueError, UnsupportedQueryError) as error:
        if not isinstance(source, str | os.PathLike):
            raise
        raise FileFormatError(f"{clipped(os.fsdecode(source))}: {error}") from error


@dataclass(frozen=True)
class Element:
    """An element of an XML file."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """Give the children of a tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """Give the first child of a tag."""
        return next((child for child in self.children if child.tag == tag), None)


def read_xml(path: str) -> Element:
    """Read a file. Declared entities are refused: they can grow without end, and name files.

    Raises ValueError with the line.
    """
    top = Element("", {}, 0)
    open_elements = [top]
    # Names keep their prefixes, whether these are declared or not.
    parser = expat.ParserCreate()

    def begin(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(tag: str) -> None:
        open_elements.pop()

    def declare(name: str, *rest: Any) -> None:
        raise ValueError(f"line {parser.CurrentLineNumber}: declares the entity {quoted(name)}; write its text instead")

    parser.StartElementHandler, parser.EndElementHandler, parser.EntityDeclHandler = begin, end, declare
    with open(path, "rb") as stream:
        try:
            parser.ParseFile(stream)
        except expat.ExpatError as error:
            raise ValueError(f"not XML: {clipped(str(error))}") from error
        except LookupError as error:  # an encoding that Python does not know
            raise ValueError(f"not XML: {clipped(str(error))}") from error
    return top.children[0]
