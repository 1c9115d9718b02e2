"""What a file of boxes holds, once read."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broadphase.errors import FileFormatError, clipped, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class BoxFile:
    """The boxes of a file, and what their rows are called there.

    Attributes
    ----------
    boxes : ndarray, shape (n, 2, d), float32 or float64
        Lower and upper corners. Values are not checked: see `broadphase.boxes.find_invalid`.
    source : str
        The path of the file as given, for messages.
    row_type : str
        What one box is in the file: "array row", "table row", "feature", "feature part", "triangle" or "mesh part".
    names : ndarray of object, shape (n,), optional
        Name of each box, if the file has names.
    owners : ndarray of int64, shape (n,), optional
        For parts and triangles: number of the feature or mesh in the file.
    blank : str
        Where a row of NaN comes from in such a file: "an empty cell", "a feature without coordinates".
    crs : str, optional
        The coordinate system of a map, such as "EPSG:32633"; None where the file names none by authority and code.
    """

    boxes: NDArray[Any]
    source: str
    row_type: str
    names: NDArray[np.object_] | None = None
    owners: NDArray[np.int64] | None = None
    blank: str = ""
    crs: str | None = None

    def __repr__(self) -> str:
        return f"<{len(self.boxes)} boxes of {quoted(self.source)}: {self.row_type}s, {self.boxes.shape[2]} axes>"

    def describe(self, row: int) -> str:
        """Return the file, the number and the name of a row, for messages.

        Examples
        --------
        >>> import numpy as np
        >>> names = np.array(["Kings", "Cook"], dtype=object)
        >>> BoxFile(np.zeros((2, 2, 2)), "counties.csv", "table row", names).describe(1)
        'counties.csv, row 1 (Cook)'
        """
        name = "" if self.names is None or self.names[row] is None else f" ({self.names[row]})"
        return f"{self.source}, row {row}{name}"


@contextmanager
def naming_damage(path: Path, kind: str) -> Iterator[None]:
    """Raise FileFormatError, which names the file, for whatever a damaged one makes a library raise."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise FileFormatError(f"{clipped(str(path))}: not a readable {kind} file ({clipped(str(error))})") from error
