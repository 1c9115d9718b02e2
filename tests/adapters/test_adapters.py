"""The adapters: what they import and when, and what they say without their library."""

import importlib
import subprocess
import sys

import pytest

import broadphase as bp
from broadphase import adapters
from broadphase.extras import import_extra


def test_import_of_the_package_imports_no_adapter_and_no_library():
    names = "[name for name in broadphase.adapters.ADAPTERS if name in sys.modules]"
    command = f"import sys, broadphase.adapters; print({names})"
    result = subprocess.run([sys.executable, "-c", command], check=True, capture_output=True, text=True)
    assert result.stdout == "[]\n"
    assert bp.adapters is adapters
    assert dir(adapters)


@pytest.mark.parametrize("name", adapters.ADAPTERS)
def test_adapter_without_its_library_says_how_to_install_it(name, monkeypatch):
    for loaded in [one for one in sys.modules if one.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.delitem(sys.modules, f"broadphase.adapters.{name}", raising=False)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(bp.errors.MissingExtraError, match=rf"broadphase\.adapters\.{name} needs {name}: pip install "):
        importlib.import_module(f"broadphase.adapters.{name}")


def test_adapter_that_does_not_exist_is_named_with_the_nearest():
    with pytest.raises(AttributeError, match=r"unknown adapter 'pygam' \(did you mean 'pygame'\?\)"):
        _ = adapters.pygam


def test_error_inside_a_library_is_not_taken_for_a_missing_library(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("import no_such_part")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_part") as caught:
        import_extra("broken_library", purpose="this", install="broken-library")
    assert not isinstance(caught.value, bp.errors.MissingExtraError)
