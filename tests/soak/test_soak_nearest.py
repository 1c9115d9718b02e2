"""Full numbers: the nearest of a million features of each kind, to each kind, as shapely finds them to the last bit."""

import numpy as np
import pytest

from seeds import compared, seeds

shapely = pytest.importorskip("shapely", reason="shapely is not installed")

from broadphase.adapters import shapely as ours  # noqa: E402 (the library is there)
from test_adapter_shapely import answer_all, feature  # noqa: E402

pytestmark = pytest.mark.soak
KINDS, OF_EACH = 8, 10
OPTIONS = ({}, {"all_matches": False}, {"exclusive": True}, {"max_distance": 1.0})


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_nearest_features_random_and_on_lattices_as_shapely(options, monkeypatch):
    answer_all(monkeypatch)
    for seed in seeds(1600):  # 8 kinds, 80 inputs each
        random = np.random.default_rng(seed)
        scale = float(random.choice([1, 1 / 3, 1e-3, 1e5, 1e100]))
        side, shift = int(random.integers(3, 100)), random.choice((0.0, 0.0, 1e3, -1e9)) * scale

        def made(kind, count, side=side, scale=scale, shift=shift, random=random, seed=seed):
            found = np.array([feature(random, side, scale, kind) for _ in range(count)])
            if seed % 3 == 0:  # no two on one lattice
                shifts = shift + random.random((count, 2)) * scale
                moved = zip(found, shifts, strict=True)
                found = np.array([shapely.transform(one, lambda at, by=by: at + by) for one, by in moved])
            return found

        inputs = np.concatenate([made(kind, OF_EACH) for kind in range(KINDS)])
        given = {**options}
        if given.get("max_distance"):
            given["max_distance"] = float(random.uniform(0, side / 4)) * scale
        for kind in range(KINDS):
            geometries = made(kind, int(random.integers(1, 120)))
            geometries[: len(geometries) // 8] = inputs[: len(geometries) // 8]
            capacity = int(random.integers(2, 12))
            trees = [module.STRtree(geometries, capacity) for module in (ours, shapely)]
            found, expected = (tree.query_nearest(inputs, return_distance=True, **given) for tree in trees)
            assert np.array_equal(found[0], expected[0]), seed
            assert np.array_equal(found[1], expected[1]), seed
            if not options:
                assert np.array_equal(*(tree.nearest(inputs) for tree in trees)), seed
            compared(len(inputs), len(geometries))
