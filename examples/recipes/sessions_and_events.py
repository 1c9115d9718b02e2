"""
Sessions and events: tables of times
====================================

Which session does an event belong to, if one session begins when another ends, and some
still run? Which release came before it, at most a day earlier? ``bp.join`` with
``closed="left"``, ``missing="unbounded"`` and ``how="nearest"``. See :doc:`/joins`.
Needs polars, ``pip install polars``.
"""

import datetime as dt

import matplotlib.pyplot as plt
import polars as pl

import broadphase as bp

day = dt.datetime(2026, 3, 2)


def at(hour):
    """Return a time on that day."""
    return day + dt.timedelta(hours=hour)


sessions = pl.DataFrame(
    {
        "user": ["Ada", "Bo", "Ada", "Cy"],
        "begin": [at(8), at(9), at(12), at(14)],
        "end": [at(12), at(11), at(15), None],
    }
)
errors = pl.DataFrame({"time": [at(7), at(9.5), at(12), at(20)]})
releases = pl.DataFrame(
    {"released": [at(-30), at(6), at(11.5)], "version": ["1.0", "1.1", "1.2"]}
)

# %%
# A session is half-open: the error at 12 belongs to Ada's second session alone. A
# session without end still runs.

where = {
    "lower": ("time", "begin"),
    "upper": ("time", "end"),
    "closed": "left",
    "missing": "unbounded",
}
print(bp.join(errors, sessions, **where, keep=["time", "user"]))

# %%
# Errors outside all sessions, and sessions of the same user less than half an hour
# apart, which may be one:

print(bp.join(errors, sessions, **where, how="anti"))
near = bp.join(
    sessions,
    lower="begin",
    upper="end",
    by="user",
    closed="left",
    missing="unbounded",
    margin=dt.timedelta(minutes=30),
)
print(near)

# %%
# The release before each error, unless it is older than a day: what
# ``pandas.merge_asof`` does, for rows in any order.

before = bp.join(
    errors,
    releases,
    lower=("time", "released"),
    upper=("time", "released"),
    how="nearest",
    direction="backward",
    max_distance=dt.timedelta(days=1),
    distance="since",
)
print(before)

# %%
# The same as a picture:

figure, axes = plt.subplots(figsize=(9, 2.6), layout="constrained")
for level, (user, begin, end) in enumerate(sessions.rows()):
    axes.plot([begin, end or at(22)], [level, level], color="#2B6C99", linewidth=8)
    axes.text(begin, level + 0.3, user, fontsize=8)
axes.vlines(errors["time"], -0.5, 3.8, color="#C0392B", label="errors")
axes.vlines(
    releases["released"][1:],
    -0.5,
    3.8,
    color="#7F8C8D",
    linestyle=":",
    label="releases",
)
axes.set(yticks=[], ylim=(-0.6, 4))
axes.legend(loc="upper left")
plt.show()
