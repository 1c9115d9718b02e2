"""Draw the picture of docs/robots.md: that of the recipe of the arm.

    python docs/images/draw_robots.py                # robots.png beside this file

Needs the extra ``plot``.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run the recipe, and keep its figure instead of showing it."""
    runpy.run_path(str(HERE.parents[1] / "examples/recipes/robot_arm.py"))
    pyplot.gcf().savefig(HERE / "robots.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
