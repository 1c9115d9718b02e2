"""Boxes of GeoJSON features."""

import json

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import read_boxes

SQUARE = {
    "type": "Polygon",
    "coordinates": [[[0, 0], [2, 0], [2, 1], [0, 1], [0, 0]], [[0.5, 0.5], [1, 0.5], [1, 0.9]]],
}
ISLANDS = {
    "type": "MultiPolygon",
    "coordinates": [[[[5, 5], [6, 5], [6, 6], [5, 5]]], [[[-3, 8], [-2, 8, 100], [-2, 9], [-3, 8]]]],
}
ROAD = {"type": "LineString", "coordinates": [[3, 7], [1, 9, 250.0]]}


def feature(geometry, **properties):
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def read(tmp_path, document, **options):
    path = tmp_path / "map.geojson"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return read_boxes(path, **options)


def test_features_give_their_bounding_boxes(tmp_path):
    features = [feature(SQUARE, name="square"), feature(ISLANDS), feature(ROAD, NAME="road")]
    file = read(tmp_path, {"type": "FeatureCollection", "features": features})
    np.testing.assert_array_equal(file.boxes, [[[0, 0], [2, 1]], [[-3, 5], [6, 9]], [[1, 7], [3, 9]]])
    assert file.names.tolist() == ["square", None, "road"]
    assert file.owners.tolist() == [0, 1, 2]
    assert (file.row_type, file.describe(0)) == ("feature", f"{tmp_path / 'map.geojson'}, row 0 (square)")


def test_parts_give_one_box_each(tmp_path):
    everything = {"type": "GeometryCollection", "geometries": [ISLANDS, ROAD, {"type": "Point", "coordinates": [4, 4]}]}
    points = {"type": "MultiPoint", "coordinates": [[1, 2], [3, 4, 5]]}
    roads = {"type": "MultiLineString", "coordinates": [[[0, 0], [1, 1]], [[2, 2], [1, 3]]]}
    features = [feature(SQUARE), feature(everything, name="all"), feature(points), feature(roads)]
    file = read(tmp_path, {"type": "FeatureCollection", "features": features}, parts=True)
    assert file.owners.tolist() == [0, 1, 1, 1, 1, 2, 2, 3, 3]
    np.testing.assert_array_equal(
        file.boxes.reshape(-1, 4),
        [
            [0, 0, 2, 1],
            [5, 5, 6, 6],
            [-3, 8, -2, 9],
            [1, 7, 3, 9],
            [4, 4, 4, 4],
            [1, 2, 1, 2],
            [3, 4, 3, 4],
            [0, 0, 1, 1],
            [1, 2, 2, 3],
        ],
    )
    assert file.names.tolist() == [None] + ["all"] * 4 + [None] * 4


@pytest.mark.parametrize("document", [feature(SQUARE), SQUARE])
def test_feature_or_geometry_alone_is_read(tmp_path, document):
    file = read(tmp_path, document)
    np.testing.assert_array_equal(file.boxes, [[[0, 0], [2, 1]]])
    assert file.names is None


@pytest.mark.parametrize(
    "geometry",
    [
        None,
        {"type": "Point", "coordinates": []},
        {"type": "Polygon", "coordinates": []},
        {"type": "Polygon", "coordinates": [[]]},
        {"type": "MultiPolygon", "coordinates": [[[]], []]},
        {"type": "GeometryCollection", "geometries": []},
    ],
)
@pytest.mark.parametrize("parts", [False, True])
def test_feature_without_coordinates_is_a_row_of_nan(tmp_path, geometry, parts):
    document = {"type": "FeatureCollection", "features": [feature(SQUARE), feature(geometry)]}
    file = read(tmp_path, document, parts=parts)
    assert not np.isnan(file.boxes[0]).any()
    assert np.isnan(file.boxes[1]).all()
    assert file.blank == "a feature without coordinates"


def test_part_without_coordinates_keeps_the_other_parts(tmp_path):
    holey = {"type": "MultiPolygon", "coordinates": [[[]], ISLANDS["coordinates"][0], []]}
    np.testing.assert_array_equal(read(tmp_path, holey).boxes, [[[5, 5], [6, 6]]])


def test_names_come_from_the_property_asked_for(tmp_path):
    document = {"type": "FeatureCollection", "features": [feature(SQUARE, name="a", code=17) | {"id": "x"}]}
    assert read(tmp_path, document).names.tolist() == ["a"]
    assert read(tmp_path, document, name_column="code").names.tolist() == ["17"]
    document["features"][0]["properties"] = None
    assert read(tmp_path, document).names.tolist() == ["x"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("", r"map\.geojson, line 1: not JSON"),
        ('{"type": "FeatureCollection",\n "features": [}', r"map\.geojson, line 2: not JSON"),
        ("[1, 2]", "not GeoJSON"),
        ('{"type": "FeatureCollection"}', "no list 'features'"),
        ('{"type": "Topology"}', "this is TopoJSON"),
        ({"type": "FeatureCollection", "features": [feature(SQUARE), {}]}, r"map\.geojson, row 1: lacks 'geometry'"),
        (
            {"type": "FeatureCollection", "features": [feature({"type": "Blob", "coordinates": []})]},
            "row 0: unknown geom",
        ),
        ({"type": "FeatureCollection", "features": [7]}, "row 0: "),
        (
            {"type": "Polygon", "coordinates": [[[0, 0], ["a", 1]]]},
            "row 0: coordinates must be lists of finite numbers",
        ),
        ({"type": "Polygon", "coordinates": [[["1", "2"], ["3", "4"]]]}, "row 0: coordinates must be"),
        ({"type": "Polygon", "coordinates": [[0, 0], [1, 1]]}, "row 0: coordinates must be"),
        ({"type": "LineString", "coordinates": [[0], [1]]}, "row 0: coordinates must be"),
        ({"type": "Point", "coordinates": 5}, "row 0: coordinates must be"),
        ({"type": "Point", "coordinates": [None, None]}, "row 0: coordinates must be"),
        ('{"type": "Point", "coordinates": [NaN, 1]}', "NaN is not JSON"),
    ],
)
def test_bad_geojson_names_file_and_place(tmp_path, document, message):
    with pytest.raises(bp.errors.FileFormatError, match=message):
        read(tmp_path, document)


def test_bad_part_names_the_feature(tmp_path):
    document = {
        "type": "FeatureCollection",
        "features": [feature(ISLANDS), feature({"type": "Point", "coordinates": [1]})],
    }
    with pytest.raises(bp.errors.FileFormatError, match="feature 1: coordinates"):
        read(tmp_path, document, parts=True)
