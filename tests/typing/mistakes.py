"""Four mistakes that a type checker finds: each line that is marked, and no other."""

import broadphase as bp


def make_mistakes(world: bp.World) -> None:
    bp.World(dim=2, bounds=[[0, 0], [9, 9]], boundary="bouncy")  # mistake
    bp.pairs([[0, 0, 1, 1]], method="octre")  # mistake
    world.add(bp.Circle(1.0), position=(0, 0), body_type="statik")  # mistake
    bp.pairs("nonsense")  # mistake
