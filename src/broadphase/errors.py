"""The errors and warnings that broadphase raises on its own account."""

__all__ = ["InvalidBoxError", "InvalidBoxWarning", "MissingExtraError", "TooManyPairsError"]


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


class MissingExtraError(ImportError):
    """An optional library is not installed; the message names the ``pip install`` that brings it."""
