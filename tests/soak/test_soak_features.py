"""Full numbers: a million pairs of each two kinds of features, and each predicate, against GEOS."""

import numpy as np
import pytest

from seeds import compared, seeds

shapely = pytest.importorskip("shapely", reason="shapely is not installed")

from broadphase.adapters import shapely as ours  # noqa: E402 (the library is there)
from test_adapter_shapely import PREDICATES, answer_all, feature  # noqa: E402

pytestmark = pytest.mark.soak
KINDS, OF_EACH = 8, 40


@pytest.mark.parametrize("predicate", [*PREDICATES, "contains_properly", "dwithin"])
def test_features_random_and_on_lattices_as_geos(predicate, monkeypatch):
    answer_all(monkeypatch)
    for seed in seeds(625):  # 40 x 40 of each two kinds
        random = np.random.default_rng(seed)
        side, scale = int(random.integers(3, 16)), float(random.choice([1, 1 / 3, 1e-3, 1e100]))
        geometries, inputs = (
            np.array([feature(random, side, scale, kind) for kind in range(KINDS) for _ in range(OF_EACH)])
            for _ in range(2)
        )
        if seed % 3 == 0:  # no two on one lattice
            shifts = random.random((len(inputs), 2)) * scale
            moved = zip(inputs, shifts, strict=True)
            inputs = np.array([shapely.transform(one, lambda at, by=by: at + by) for one, by in moved])
        reach = {"distance": random.integers(0, 4) * scale} if predicate == "dwithin" else {}
        found, expected = (kind.STRtree(geometries).query(inputs, predicate, **reach) for kind in (ours, shapely))
        assert np.array_equal(found, expected), seed
        compared(len(inputs), len(geometries))
