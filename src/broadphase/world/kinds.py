"""How rows move, by number."""

__all__ = ["KINDS"]

KINDS = ("dynamic", "static", "kinematic")
