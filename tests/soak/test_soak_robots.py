"""Full numbers: random models of MuJoCo, and damaged descriptions of robots."""

import pytest

import broadphase as bp
from damaged_robots import MJCFS, check_damage
from seeds import seeds

pytestmark = pytest.mark.soak


def test_eighty_thousand_configurations_of_random_models_equal_those_of_mujoco():
    pytest.importorskip("mujoco")
    from mujoco_models import check_model

    for seed in seeds(4000):
        check_model(seed, 20)


def test_twenty_thousand_damaged_urdf_files_are_read_or_refused_by_name(tmp_path):
    pytest.importorskip("trimesh")
    for seed in seeds(200):
        check_damage(tmp_path, seed, 100)


def test_ten_thousand_damaged_mjcf_files_are_read_or_refused_by_name(tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log there
    for seed in seeds(100):
        check_damage(tmp_path, seed, 100, robots=MJCFS, read=bp.Articulated.from_mjcf)
