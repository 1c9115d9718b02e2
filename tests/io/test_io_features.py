"""Boxes of files that GeoPandas writes: GeoPackage, Shapefile, FlatGeobuf, GeoParquet, lines of GeoJSON."""

import json
import sys

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import read_boxes

shapely = pytest.importorskip("shapely")
geopandas = pytest.importorskip("geopandas")
pytest.importorskip("pyogrio")

WKT = [
    "POLYGON ((0 0, 2 0, 2 1, 0 0))",
    "MULTIPOLYGON (((1 1, 3 1, 3 3, 1 1)), ((7 7, 8 7, 8 8, 7 7)))",
    "POLYGON ((0.1 0.2, 0.30000000000000004 0.2, 0.3 0.7, 0.1 0.2))",
]
NAMES = ["red", "green", None]
WHOLE = [[0, 0, 2, 1], [1, 1, 8, 8], [0.1, 0.2, 0.30000000000000004, 0.7]]
PARTS = [[0, 0, 2, 1], [1, 1, 3, 3], [7, 7, 8, 8], [0.1, 0.2, 0.30000000000000004, 0.7]]


def write(path, geometries, names=NAMES, **options):
    frame = geopandas.GeoDataFrame({"name": names, "k": range(len(geometries))}, geometry=geometries, crs=32633)
    if path.suffix == ".parquet":
        frame.to_parquet(path, **options)
    else:
        frame.to_file(path, **options)


@pytest.mark.parametrize("suffix", [".gpkg", ".shp", ".fgb", ".geojsonl", ".parquet"])
def test_file_of_features_gives_their_boxes_and_names(tmp_path, suffix):
    path = tmp_path / f"map{suffix}"
    options = {"driver": "GeoJSONSeq", "COORDINATE_PRECISION": "17"} if suffix == ".geojsonl" else {}
    options |= {"SPATIAL_INDEX": "NO"} if suffix == ".fgb" else {}  # which would sort them
    write(path, shapely.from_wkt(WKT), **options)
    if suffix == ".geojsonl":  # GDAL converts to longitude and latitude, and rounds
        lines = [
            json.dumps(
                {"type": "Feature", "properties": {"name": name}, "geometry": json.loads(shapely.to_geojson(one))}
            )
            for name, one in zip(NAMES, shapely.from_wkt(WKT), strict=True)
        ]
        path.write_text("\n".join([lines[0], "", *("\x1e" + line for line in lines[1:])]), "utf-8")
    file = read_boxes(path)
    assert file.boxes.reshape(-1, 4).tolist() == WHOLE
    assert file.names.tolist() == NAMES
    file = read_boxes(path, parts=True)
    assert file.boxes.reshape(-1, 4).tolist() == PARTS
    assert file.owners.tolist() == [0, 1, 1, 2]
    assert file.names.tolist() == ["red", "green", "green", None]
    if suffix != ".geojsonl":
        assert read_boxes(path, name_column="k").names.tolist() == ["0", "1", "2"]
        with pytest.raises(
            bp.errors.FileFormatError, match=rf"map\{suffix}: unknown column 'nam' \(did you mean 'name'\?\)"
        ):
            read_boxes(path, name_column="nam")


@pytest.mark.parametrize("suffix", [".gpkg", ".shp", ".parquet"])
@pytest.mark.parametrize("parts", [False, True])
def test_feature_without_coordinates_is_a_row_of_nan(tmp_path, suffix, parts):
    path = tmp_path / f"map{suffix}"
    origin = shapely.LineString([(0, 0), (0, 0)])  # GDAL has the same bounds for an empty geometry
    write(path, [None, shapely.LineString(), shapely.LineString([(0, 0), (1, 1)]), origin], list("abcd"))
    file = read_boxes(path, parts=parts)
    assert np.isnan(file.boxes[:2]).all()
    assert file.boxes[2:].tolist() == [[[0, 0], [1, 1]], [[0, 0], [0, 0]]]
    assert file.owners.tolist() == [0, 1, 2, 3]
    assert file.blank == "a feature without coordinates"


def test_parts_of_nested_collections_are_their_members(tmp_path):
    inner = "GEOMETRYCOLLECTION (POINT (2 2), MULTIPOINT ((3 3), (4 4)), POINT EMPTY)"
    write(tmp_path / "map.parquet", [shapely.from_wkt(f"GEOMETRYCOLLECTION (POINT (1 1), {inner})")], ["a"])
    file = read_boxes(tmp_path / "map.parquet", parts=True)
    assert file.boxes[:, 0, 0].tolist() == [1, 2, 3, 4]
    assert file.owners.tolist() == [0] * 4


def test_covering_of_geoparquet_is_read_without_the_geometries(tmp_path):
    path = tmp_path / "map.parquet"
    write(path, shapely.from_wkt(WKT), write_covering_bbox=True)
    file = read_boxes(path)
    assert file.row_type == "table row"
    assert file.boxes.reshape(-1, 4).tolist() == WHOLE
    assert read_boxes(path, parts=True).boxes.reshape(-1, 4).tolist() == PARTS


def test_geoparquet_of_other_encodings_names_the_column(tmp_path):
    path = tmp_path / "map.parquet"
    write(path, [shapely.Point(1, 2)], ["a"], geometry_encoding="geoarrow")
    with pytest.raises(
        bp.errors.FileFormatError, match=r"map\.parquet: column geometry holds geometries as point, not as WKB"
    ):
        read_boxes(path)


def test_layers_of_a_geopackage_are_chosen_by_name(tmp_path):
    path = tmp_path / "map.gpkg"
    write(path, shapely.from_wkt(WKT), layer="rooms")
    write(path, [shapely.box(5, 5, 6, 6)], ["x"], layer="halls")
    with pytest.raises(bp.errors.FileFormatError, match=r"has several layers: \w+, \w+; name one by layer="):
        read_boxes(path)
    assert read_boxes(path, layer="halls").boxes.tolist() == [[[5, 5], [6, 6]]]
    with pytest.raises(bp.errors.FileFormatError, match=r"unknown layer 'hall' \(did you mean 'halls'\?\)"):
        read_boxes(path, layer="hall")
    with pytest.raises(ValueError, match="layer: csv files have no layers"):
        read_boxes("boxes.csv", layer="halls")


@pytest.mark.parametrize("suffix", [".gpkg", ".shp", ".fgb", ".geojsonl"])
def test_damaged_file_of_features_names_the_file(tmp_path, suffix):
    path = tmp_path / f"map{suffix}"
    path.write_bytes(b"\xff nothing of this kind")
    with pytest.raises(bp.errors.FileFormatError, match=rf"map\{suffix}"):
        read_boxes(path)
    with pytest.raises(FileNotFoundError):
        read_boxes(tmp_path / f"missing{suffix}")


def test_bad_line_of_geojson_is_named(tmp_path):
    path = tmp_path / "map.geojsonl"
    path.write_text('{"type": "Point", "coordinates": [1, 2]}\n{"type": \n', "utf-8")
    with pytest.raises(bp.errors.FileFormatError, match=r"map\.geojsonl, line 2: "):
        read_boxes(path)


def test_features_without_pyogrio_say_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyogrio", None)
    with pytest.raises(
        bp.errors.MissingExtraError, match=r'reading \.gpkg files needs pyogrio: pip install "broadphase\[gis\]"'
    ):
        read_boxes(tmp_path / "map.gpkg")


def test_missing_pyarrow_is_named_with_the_extra_that_brings_it(tmp_path, monkeypatch):
    write(tmp_path / "map.gpkg", shapely.from_wkt(WKT))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(bp.errors.MissingExtraError, match=r'needs pyarrow: pip install "broadphase\[gis\]"'):
        read_boxes(tmp_path / "map.gpkg")


@pytest.mark.parametrize("suffix", [".gpkg", ".shp", ".fgb", ".parquet", ".geojson"])
@pytest.mark.parametrize("code", [32633, 4326])
def test_file_of_features_names_its_coordinate_system(tmp_path, suffix, code):
    frame = geopandas.GeoDataFrame({"name": NAMES}, geometry=shapely.from_wkt(WKT), crs=code)
    path = tmp_path / f"map{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_file(path)
    assert read_boxes(path).crs == f"EPSG:{code}"
    assert read_boxes(path, parts=True).crs == f"EPSG:{code}"


def test_geojson_without_a_coordinate_system_fits_all(tmp_path):
    path = tmp_path / "map.geojson"
    path.write_text('{"type": "Point", "coordinates": [1, 2]}', "utf-8")
    assert read_boxes(path).crs is None


def test_command_refuses_files_in_two_coordinate_systems(tmp_path, capsys):
    pytest.importorskip("typer")
    from broadphase import cli

    for name, code in (("a.gpkg", 32633), ("b.geojson", 4326)):
        geopandas.GeoDataFrame(geometry=shapely.from_wkt(WKT), crs=code).to_file(tmp_path / name)
    assert cli.main(["pairs", str(tmp_path / "a.gpkg"), str(tmp_path / "b.geojson")]) == 1
    error = capsys.readouterr().err
    assert "a.gpkg is in EPSG:32633" in error
    assert "b.geojson is in EPSG:4326" in error
