"""Bodies that leave a world at its boundary: what has begun ends, for the handles that it began for."""

import broadphase as bp
from removal_histories import play


def test_world_that_bodies_leave_has_events_that_balance_for_any_history():
    assert sum(play(seed) for seed in range(60)) > 40


def test_ccd_body_that_meets_another_outside_the_bounds_and_leaves_touches_nothing():
    world = bp.World(dim=2, bounds=[[0, 0], [4, 4]], boundary="remove")
    world.add_many(bp.Circle(0.5), [[6, 6], [9, 6]], velocities=[[6, 0], [0, 0]], ccd=True, boundary=["remove", "none"])
    frame = world.step(1.0)
    assert frame.removed.tolist() == [0]
    assert len(frame.pairs) == len(frame.enter) == len(frame.impacts.pairs) == 0
    world.validate()
    world.add(bp.Circle(0.5), position=(1, 1))
    assert len(world.step(1.0).exit) == 0
