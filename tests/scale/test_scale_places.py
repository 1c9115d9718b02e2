"""Results on other file systems than this machine's: whole files only, runs that go on, no secrets."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from broadphase import scale
from broadphase.scale import local, locks, places
from broadphase.testing import oracle

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
fs = pytest.importorskip("pyarrow.fs", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

RNG = np.random.default_rng(1)
LOWER = RNG.random((1500, 2))
BOXES = np.stack([LOWER, LOWER + 0.05 * RNG.random((1500, 2))], axis=1)
EXPECTED = sorted(map(tuple, np.asarray(oracle.pairs(BOXES)).tolist()))
BOX_COLUMNS: dict[str, Any] = {"lower": ("x0", "y0"), "upper": ("x1", "y1")}
WHOLE = {"_manifest.json", "_plan.json", "_finished.jsonl", "_report.json"}


class Store(fs.FileSystemHandler):
    """An object store: files appear when they are closed, whatever was written; keeps a record of the names."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.seen: list[str] = []
        self.room = 1 << 60

    def get_type_name(self) -> str:
        return "store"

    def normalize_path(self, path: str) -> str:
        return path

    def _info(self, path: str) -> Any:
        if path in self.files:
            return fs.FileInfo(path, fs.FileType.File, size=len(self.files[path]))
        below = any(name.startswith(path + "/") for name in self.files)
        return fs.FileInfo(path, fs.FileType.Directory if below else fs.FileType.NotFound)

    def get_file_info(self, paths: list[str]) -> list[Any]:
        return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: Any) -> list[Any]:
        return [self._info(path) for path in self.files if path.startswith(selector.base_dir + "/")]

    def create_dir(self, path: str, recursive: bool) -> None:
        pass

    def delete_dir(self, path: str) -> None:
        self.files = {name: data for name, data in self.files.items() if not name.startswith(path + "/")}

    def delete_file(self, path: str) -> None:
        if self.files.pop(path, None) is None:
            raise FileNotFoundError(path)

    def move(self, source: str, target: str) -> None:
        self.files[target] = self.files.pop(source)
        self.seen.append(target)

    def open_input_stream(self, path: str) -> Any:
        return pa.PythonFile(io.BytesIO(self.files[path]), mode="r")

    open_input_file = open_input_stream

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        store = self

        class Stream(io.BytesIO):
            def write(self, data: Any) -> int:
                if store.room < self.tell():
                    raise OSError(f"s3://key:s3cret@bucket/{path}?token=s3cret is full")
                return super().write(bytes(data))

            def close(self) -> None:
                if not self.closed:
                    store.files[path] = self.getvalue()
                super().close()

        return pa.PythonFile(Stream(), mode="w")

    delete_dir_contents = delete_root_dir_contents = copy_file = open_append_stream = get_file_info


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    handler = Store()
    monkeypatch.setattr(
        places, "file_system", lambda address: (fs.PyFileSystem(handler), address.partition("@")[2].partition("?")[0])
    )
    monkeypatch.setattr(places, "_BETWEEN", 0.0)
    return handler


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """One file of boxes, and memory for a few hundred of them."""

    def sizes(*arguments: Any) -> local.Sizes:
        return local.Sizes(piece_rows=300, tile_rows=200, chunk_pairs=100, in_memory=False)

    monkeypatch.setattr(local.Sizes, "of", sizes)
    corners = {f"{axis}{side}": BOXES[:, side, k] for side in (0, 1) for k, axis in enumerate("xy")}
    table = pa.table({"id": np.arange(len(BOXES)), **corners})
    parquet.write_table(table, tmp_path / "boxes.parquet", row_group_size=200)
    return str(tmp_path / "boxes.parquet")


def pairs_in(files: dict[str, bytes]) -> list[tuple[int, int]]:
    tables = [parquet.read_table(io.BytesIO(data)) for name, data in files.items() if name.endswith(".parquet")]
    table = pa.concat_tables(tables)
    return sorted(zip(table["first"].to_pylist(), table["second"].to_pylist(), strict=True))


ADDRESS = "s3://key:s3cret@bucket/pairs?token=s3cret"


def test_pairs_go_to_an_object_store_in_whole_files(files: str, store: Store) -> None:
    report = scale.pairs(files, output=ADDRESS, workers=2, **BOX_COLUMNS)
    assert pairs_in(store.files) == EXPECTED
    assert report.pair_count == len(EXPECTED)
    names = {name.removeprefix("bucket/pairs/") for name in store.files}
    assert {name for name in names if not name.startswith("pairs-")} == WHOLE
    assert len(names) > 10
    assert set(store.seen) == set(store.files)  # nothing got its name but by a move of a complete file
    again = scale.pairs(files, output=ADDRESS, workers=2, **BOX_COLUMNS)
    assert again.resumed_tiles == again.tiles == report.tiles


def test_secrets_are_in_no_file_of_the_output(files: str, store: Store) -> None:
    scale.pairs(files, output=ADDRESS, **BOX_COLUMNS)
    assert not [name for name, data in store.files.items() if b"s3cret" in data or "s3cret" in name]
    facts = json.loads(store.files["bucket/pairs/_manifest.json"])
    assert set(facts) == {"kind", "input", "options"}


@pytest.mark.parametrize("with_scratch", [False, True])
@pytest.mark.parametrize("stage", ["assign", "join"])
def test_interrupted_run_to_an_object_store_goes_on(
    stage: str, with_scratch: bool, files: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "_BETWEEN", 1e9)  # what is kept back is written at the interruption
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    options = {**BOX_COLUMNS, "workers": 1, "scratch": tmp_path / "scratch" if with_scratch else None}

    def interrupt(now: str, done: int, total: int) -> None:
        if now == stage and done > total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scale.pairs(files, output=ADDRESS, progress=interrupt, **options)
    store.files["bucket/pairs/_part-pairs-000003.parquet"] = b"left by a process that was killed"
    assert list(temporary.iterdir()) == []
    finished = store.files.get("bucket/pairs/_finished.jsonl", b"").count(b"\n")
    assert (finished > 0) == (stage == "join")
    assigned: list[int] = []
    report = scale.pairs(
        files,
        output=ADDRESS,
        progress=lambda now, done, total: assigned.append(total) if now == "assign" else None,
        **options,
    )
    assert report.resumed_tiles == finished
    assert (assigned[0] < len(BOXES)) == with_scratch
    assert pairs_in(store.files) == EXPECTED
    assert not [name for name in store.files if "_part" in name]
    assert not with_scratch or list((tmp_path / "scratch").iterdir()) == []


def test_second_run_to_an_object_store_is_refused(files: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_BEAT", 0.02)
    monkeypatch.setattr(locks, "_PATIENCE", 0.5)
    refusals: list[str] = []

    def told(stage: str, done: int, total: int) -> None:
        if stage == "join" and not refusals:
            with pytest.raises(FileExistsError) as error:
                scale.pairs(files, output=ADDRESS, **BOX_COLUMNS)
            refusals.append(str(error.value))

    scale.pairs(files, output=ADDRESS, workers=1, progress=told, **BOX_COLUMNS)
    assert refusals == ["s3://bucket/pairs: another run is writing to it; wait for its end, or use another folder"]
    assert pairs_in(store.files) == EXPECTED
    assert "bucket/pairs/_lock" not in store.files


def test_lock_that_a_killed_run_left_in_an_object_store_is_void(
    files: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_PATIENCE", 0.1)
    store.files["bucket/pairs/_lock"] = b"of a run that was killed 3"
    scale.pairs(files, output=ADDRESS, workers=1, **BOX_COLUMNS)
    assert pairs_in(store.files) == EXPECTED


def test_run_whose_lock_in_an_object_store_was_taken_ends_and_deletes_nothing(
    files: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_BEAT", 0.02)
    kept: dict[str, bytes] = {}

    def told(stage: str, done: int, total: int) -> None:
        if stage == "join" and not kept:
            store.files["bucket/pairs/_lock"] = b"of the other run 1"
            time.sleep(0.5)
            kept.update(store.files)

    with pytest.raises(FileExistsError, match="another run is writing to it"):
        scale.pairs(files, output=ADDRESS, workers=1, progress=told, **BOX_COLUMNS)
    assert kept.items() <= store.files.items()


def test_full_object_store_is_named_without_secrets_and_left_clean(files: str, store: Store) -> None:
    store.room = 1000
    with pytest.raises(OSError, match=r"s3://bucket/pairs/pairs-\d+\.parquet") as error:
        scale.pairs(files, output=ADDRESS, workers=2, **BOX_COLUMNS)
    assert "s3cret" not in str(error.value)
    assert not [name for name in store.files if name.endswith(".parquet")]
    store.room = 1 << 60
    scale.pairs(files, output=ADDRESS, workers=2, **BOX_COLUMNS)
    assert pairs_in(store.files) == EXPECTED


def test_bad_row_leaves_nothing_in_an_object_store(files: str, store: Store) -> None:
    table = parquet.read_table(files)
    values = table["x1"].to_numpy().copy()
    values[900] = np.nan
    parquet.write_table(table.set_column(3, "x1", pa.array(values)), files)
    with pytest.raises(ValueError, match="row 900"):
        scale.pairs(files, output=ADDRESS, **BOX_COLUMNS)
    assert store.files == {}


def test_other_results_in_an_object_store_are_kept(files: str, store: Store) -> None:
    scale.pairs(files, output=ADDRESS, **BOX_COLUMNS)
    with pytest.raises(FileExistsError, match=r"s3://bucket/pairs holds results of other options: touching"):
        scale.pairs(files, output=ADDRESS, touching=False, **BOX_COLUMNS)
    assert pairs_in(store.files) == EXPECTED
    scale.pairs(files, output=ADDRESS, touching=False, resume=False, **BOX_COLUMNS)
    store.files["bucket/mine/thesis.txt"] = b"years of work"
    with pytest.raises(FileExistsError, match="s3://bucket/mine holds other files"):
        scale.pairs(files, output="s3://key:s3cret@bucket/mine", **BOX_COLUMNS)


def test_address_of_this_machine_is_a_folder(files: str, tmp_path: Path) -> None:
    scale.pairs(files, output=(tmp_path / "pairs").as_uri(), **BOX_COLUMNS)
    data = {path.name: path.read_bytes() for path in (tmp_path / "pairs").iterdir()}
    assert pairs_in(data) == EXPECTED
    assert {name for name in data if not name.endswith(".parquet")} == WHOLE


def test_pairs_go_from_and_to_file_systems_of_fsspec(files: str) -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    memory = fsspec.filesystem("memory")
    try:
        fs.FileSystem.from_uri("fsspec+memory://x")
    except pa.ArrowInvalid:
        pytest.skip("this pyarrow has no addresses of fsspec")
    try:
        with memory.open("/boxes/a.parquet", "wb") as stream:
            stream.write(Path(files).read_bytes())
        for where in ("fsspec+memory://boxes", "fsspec+memory://boxes/*.parquet"):
            scale.pairs(where, output="fsspec+memory://pairs/here", resume=False, **BOX_COLUMNS)
            names = memory.find("/pairs/here")
            assert pairs_in({name: memory.cat(name) for name in names}) == EXPECTED
    finally:
        memory.store.clear()
