"""How much of the full numbers to run: `BROADPHASE_SOAK=0.01` runs a hundredth of each."""

import os


def times(full: int) -> int:
    """Give the number of repetitions."""
    return max(1, round(full * float(os.environ.get("BROADPHASE_SOAK", "1"))))
