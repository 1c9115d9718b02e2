"""Reports of clashes: groups of parts, and numbers that stay from report to report."""

import csv
import json
import uuid

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import Part, PartFile, describe_clashes, write_clashes
from mesh_files import BOX, BOX_FACES

VERTICES, FACES = np.array(BOX, float), np.array(BOX_FACES)


def part(name, x, parent=None, **more):
    return Part(name, VERTICES, FACES, np.array([x, 0.0, 0.0]), np.eye(4)[0], parent, **more)


def found_in(files, **options):
    return bp.clashes([part for file in files for part in file.parts], **options)


def report_of(path, files, **options):
    found = found_in(files)
    assert write_clashes(path, found, files, **options) == len(found.pairs)
    return json.loads(path.read_text("utf-8"))


def names_of(report):
    """The number and status of each pair of names."""
    listed = [(sorted(report["parts"][row]["name"] for row in one["parts"]), one) for one in report["clashes"]]
    listed += [(sorted([one["first"]["name"], one["second"]["name"]]), one) for one in report["gone"]]
    return {"-".join(names): (one["number"], one["status"]) for names, one in listed}


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("bolt (2)", "bolt"), ("bolt.003", "bolt"), ("bolt-4", "bolt"), ("bolt_12", "bolt"), ("bolt 3", "bolt"),
        ("Basic Wall:Generic:123456", "Basic Wall:Generic"), ("M8", "M8"), ("M8-1", "M8"), ("bolt", "bolt"),
        ("(2)", "(2)"), ("12", "12"), ("bolt (2) left", "bolt (2) left"), ("bolt #7", "bolt"),
    ],
)  # fmt: skip
def test_base_names_are_without_numbers(name, base):
    assert part(name, 0).base_name == base


def test_groups_are_one_line_each(tmp_path):
    size = float(np.ptp(VERTICES[:, 0]))
    flange = [part("flange", 0, "pipe 1")] + [part(f"bolt ({k})", 0.1 * k * size, "pipe 1") for k in (1, 2, 3)]
    files = [PartFile([*flange, part("slab", 0.9 * size)], "plant.glb", "m")]
    report = report_of(tmp_path / "a.json", files, group_by="name")
    lines = {(one["first"], one["second"]): len(one["clashes"]) for one in report["groups"]}
    assert lines == {
        ("flange", "bolt"): 3, ("bolt", "bolt"): 3, ("flange", "slab"): 1, ("bolt", "slab"): 3,
    }  # fmt: skip
    assert sorted(row for one in report["groups"] for row in one["clashes"]) == list(range(10))
    by_parent = report_of(tmp_path / "b.json", files, group_by="parent")
    assert {(one["first"], one["second"]): len(one["clashes"]) for one in by_parent["groups"]} == {
        ("pipe 1", "pipe 1"): 6, ("pipe 1", "slab"): 4,
    }  # fmt: skip
    cells = report_of(tmp_path / "c.json", files, group_by="cell", cell_size=100.0)
    assert all(one["first"].startswith("cell ") for one in cells["groups"])
    write_clashes(tmp_path / "a.csv", found_in(files), files, group_by="name")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {(row["first"], row["second"]): int(row["clashes"]) for row in rows} == lines
    assert [row["kind"] for row in rows] == [one["kind"] for one in report["groups"]]
    assert {row["first_file"] for row in rows} == {"plant.glb"}


def test_types_are_those_of_ifc_classes(tmp_path):
    walls = [part("north", 0, type="IfcWall", guid="2O2Fr$t4X7Zf8NOew3FLOH"), part("south", 0.1, type="IfcWall")]
    pipe = part("pipe", 0.2, type="IfcPipeSegment")
    files = [PartFile([*walls, pipe], "house.ifc", "m"), PartFile([part("tank", 0.3)], "tank.glb", "m")]
    report = describe_clashes(found_in(files), files, group_by="type")
    assert {frozenset((one["first"], one["second"])): len(one["clashes"]) for one in report["groups"]} == {
        frozenset(["IfcWall"]): 1, frozenset(["IfcWall", "IfcPipeSegment"]): 2, frozenset(["IfcWall", "tank.glb"]): 2,
        frozenset(["IfcPipeSegment", "tank.glb"]): 1,
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"only \.ifc files have, and not 'tank\.glb'"):
        describe_clashes(found_in(files[1:]), files[1:], group_by="type")


def test_numbers_stay_as_long_as_the_pair_clashes(tmp_path):
    size = float(np.ptp(VERTICES[:, 0]))
    a, b, c = part("a", 0), part("b", 0.5 * size), part("c", 1.25 * size)
    first = report_of(tmp_path / "1.json", [PartFile([a, b, c], "old/plant.glb", "m")])
    one, two = (names_of(first)[pair][0] for pair in ("a-b", "b-c"))
    assert {one, two} == {1, 2}
    assert {status for _, status in names_of(first).values()} == {None}
    # In another folder and order, b has moved from c to a new part.
    d = part("d", 0.6 * size)
    files = [PartFile([d, c._replace(position=np.array([9 * size, 0, 0])), b, a], "new/plant.glb", "m")]
    second = report_of(tmp_path / "2.json", files, baseline=tmp_path / "1.json")
    assert names_of(second)["a-b"] == (one, "unchanged")
    assert names_of(second)["b-c"] == (two, "gone")
    assert {names_of(second)[pair][0] for pair in ("a-d", "b-d")} == {3, 4}
    assert names_of(second)["a-d"][1] == "new"
    assert second["gone"][0]["kind"] == "penetrates"
    # Numbers of what is gone are not used again.
    files = [PartFile([a, b, c], "plant.glb", "m")]
    third = report_of(tmp_path / "3.json", files, baseline=tmp_path / "2.json")
    assert names_of(third) == {
        "a-b": (one, "unchanged"), "b-c": (5, "new"), "a-d": (names_of(second)["a-d"][0], "gone"),
        "b-d": (names_of(second)["b-d"][0], "gone"),
    }  # fmt: skip
    guids = [{one["guid"] for one in report["clashes"]} for report in (first, second, third)]
    assert guids[0] == guids[2]
    assert len(guids[0] & guids[1]) == 1
    assert all(str(uuid.UUID(one)) == one for one in set.union(*guids))


def test_parts_of_ifc_files_are_known_by_guid(tmp_path):
    wall, pipe = part("wall", 0, guid="2O2Fr$t4X7Zf8NOew3FLOH"), part("pipe", 0.2, guid="1hOSvn6df7F8_7GcBWlRGQ")
    report_of(tmp_path / "1.json", [PartFile([wall, pipe], "a.ifc", "m")])
    renamed = [PartFile([pipe._replace(name="duct")], "c.ifc", "m"), PartFile([wall._replace(name="W1")], "b.ifc", "m")]
    report = report_of(tmp_path / "2.json", renamed, baseline=tmp_path / "1.json")
    assert [(one["number"], one["status"]) for one in report["clashes"]] == [(1, "unchanged")]
    assert report["gone"] == []


def test_files_of_one_name_have_clashes_of_their_own(tmp_path):
    files = [PartFile([part("a", 0.1 * k)], f"{k}/one.obj", None) for k in range(3)]
    report = report_of(tmp_path / "1.json", files, group_by="name")
    assert len({one["guid"] for one in report["clashes"]}) == len({one["guid"] for one in report["groups"]}) == 3
    again = report_of(tmp_path / "2.json", files, group_by="name", baseline=tmp_path / "1.json")
    assert {one["status"] for one in again["clashes"] + again["groups"]} == {"unchanged"}
    assert again["gone"] == []


def test_a_change_of_kind_is_said(tmp_path):
    size = float(np.ptp(VERTICES[:, 0]))
    report_of(tmp_path / "1.json", [PartFile([part("a", 0), part("b", size)], "x.glb", "m")])
    files = [PartFile([part("a", 0), part("b", 0.5 * size)], "x.glb", "m")]
    (clash,) = report_of(tmp_path / "2.json", files, baseline=tmp_path / "1.json")["clashes"]
    assert (clash["kind_before"], clash["kind"], clash["status"]) == ("touches", "penetrates", "unchanged")


def test_groups_that_are_gone_are_listed(tmp_path):
    files = [PartFile([part("a (1)", 0), part("a (2)", 0), part("b", 0)], "x.glb", "m")]
    report_of(tmp_path / "1.json", files, group_by="name")
    files = [PartFile(files[0].parts[:2], "x.glb", "m")]
    report = report_of(tmp_path / "2.json", files, group_by="name", baseline=tmp_path / "1.json")
    listed = {(one["first"], one["second"], one["status"], len(one["clashes"])) for one in report["groups"]}
    assert listed == {("a", "a", "unchanged", 1), ("a", "b", "gone", 0)}
    write_clashes(tmp_path / "2.csv", found_in(files), files, group_by="name", baseline=tmp_path / "1.json")
    with (tmp_path / "2.csv").open(newline="", encoding="utf-8") as stream:
        assert [(row["status"], row["clashes"]) for row in csv.DictReader(stream)] == [
            ("unchanged", "1"),
            ("gone", "0"),
        ]
    write_clashes(tmp_path / "3.csv", found_in(files), files, baseline=tmp_path / "1.json")
    with (tmp_path / "3.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["status"] for row in rows] == ["unchanged", "gone", "gone"]
    assert {row["second"] for row in rows[1:]} == {"b"}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda report: "{", "not a JSON file"),
        (lambda report: "[" * 100_000, "not a JSON file"),
        (lambda report: "[]", "no report of numbered clashes"),
        (lambda report: '{"counts": {}}', "no report of numbered clashes"),
        (lambda report: report["clashes"][1].__delitem__("number"), "clash 1: has no 'number'"),
        (lambda report: report["clashes"][1].update(guid="x"), "clash 1: is damaged"),
        (lambda report: report["clashes"][1].update(kind="bad"), "clash 1: is damaged"),
        (lambda report: report["clashes"][1].update(parts=[0, 99]), "clash 1: is damaged"),
        (lambda report: report["clashes"][1].update(parts=[0, -1]), "clash 1: is damaged"),
        (lambda report: report["clashes"][1].update(points=[[0, 0, 0]]), "clash 1: is damaged"),
        (lambda report: report["clashes"].append(7), "clash 3: is damaged"),
        (lambda report: report["groups"][0].__delitem__("first"), "group 0: has no 'first'"),
    ],
)
def test_a_damaged_baseline_is_named_with_the_clash(damage, message, tmp_path):
    files = [PartFile([part("a", 0), part("b", 0), part("c", 0)], "x.glb", "m")]
    report = report_of(tmp_path / "1.json", files, group_by="name")
    damaged = damage(report)
    (tmp_path / "1.json").write_text(json.dumps(report) if damaged is None else damaged)
    with pytest.raises(bp.errors.FileFormatError, match=rf"1\.json: {message}"):
        describe_clashes(found_in(files), files, baseline=tmp_path / "1.json")


def test_options_that_do_not_fit_are_errors(tmp_path):
    files = [PartFile([part("a", 0), part("b", 0)], "x.glb", "m")]
    found = found_in(files)
    for options, message in (
        ({"group_by": "nme"}, r"unknown group_by 'nme' \(did you mean 'name'\?\)"),
        ({"group_by": "cell"}, "needs cell_size"),
        ({"group_by": "name", "cell_size": 1.0}, "needs cell_size, and nothing else does"),
        ({"group_by": "cell", "cell_size": -1.0}, "cell"),
    ):
        with pytest.raises(ValueError, match=message):
            describe_clashes(found, files, **options)
    with pytest.raises(ValueError, match="files have 1 parts, and there is a clash of part 1"):
        describe_clashes(found, [files[0]._replace(parts=files[0].parts[:1])])
    report_of(tmp_path / "1.json", files)
    with pytest.raises(FileExistsError):
        write_clashes(tmp_path / "1.json", found, files, baseline=tmp_path / "1.json")
    with pytest.raises(FileNotFoundError):
        describe_clashes(found, files, baseline=tmp_path / "none.json")
