"""The errors and warnings that broadphase raises on its own account."""

__all__ = [
    "InvalidBoxError",
    "InvalidBoxWarning",
    "MissingExtraError",
    "TooManyPairsError",
    "UnknownRowError",
    "UnsupportedQueryError",
]


class InvalidBoxError(ValueError):
    """A box has NaN in a corner, or a lower corner above its upper one.

    Attributes
    ----------
    row : int
        Number of the first bad row.
    """

    def __init__(self, message: str, row: int = -1) -> None:
        super().__init__(message)
        self.row = row

    def __reduce__(self) -> tuple[type["InvalidBoxError"], tuple[str, int]]:
        return type(self), (str(self), self.row)


class InvalidBoxWarning(UserWarning):
    """Boxes were left out, as asked for by ``invalid="skip"``."""


class TooManyPairsError(RuntimeError):
    """More pairs were found than ``max_pairs`` allows."""


class UnknownRowError(KeyError):
    """A row or a handle that an index does not have, or has no longer."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # KeyError would show the message in quotes


class UnsupportedQueryError(NotImplementedError):
    """A question that this kind of index does not answer; the message names those that do."""


class MissingExtraError(ImportError):
    """An optional library is not installed; the message names the ``pip install`` that brings it."""
