"""info, tree, explain, trace, verify, locate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.cli import program
from shardcore.cli.inspect import cost_text, trace_lines
from shardcore.cli.program import run
from shardcore.errors import LimitExceeded, NotAShard, Remedy
from shardcore.model.text import long_size
from shardcore.operations.cold_cost import cold_trace
from shardcore.shards.registry import all_formats
from shardcore.shards.trace import Trace
from tests.hostile.neuroglancer import SHARDING

KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"  # sha256 of "a"
ABSENT = "00" * 32
SAMPLES = Path(__file__).parents[3] / "resources" / "samples"
SIZES = Path(__file__).parents[2] / "data/cases/06-size-of-a-folder"
SIZE_OF = {name: found["size"] for name, found in json.loads((SIZES / "expected.json").read_text())["right"].items()}


@pytest.fixture
def small(data: Path) -> str:
    return str(data / "swh/small.shard")


@pytest.fixture
def damaged(data: Path, tmp_path: Path) -> str:
    content = bytearray((data / "swh/small.shard").read_bytes())
    with shardcore.open(bytes(content)) as shard:
        at, index = shard.find(KEY).row, shard.fields["header.index_position"]
    content[index + 40 * at + 32 : index + 40 * at + 40] = b"\x7f" * 8
    (tmp_path / "damaged.shard").write_bytes(content)
    return str(tmp_path / "damaged.shard")


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    return json.loads(out)


@pytest.mark.parametrize("name", SIZE_OF)
def test_the_size_of_a_folder_is_that_of_its_shards(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str((SAMPLES.parents[1] if "/" in name else SIZES) / name)
    assert run(["info", folder, "--json"]) == 0
    assert told(capsys)["size"] == SIZE_OF[name]
    assert run(["info", folder]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith(f"{long_size(SIZE_OF[name])}, ")


def test_sizes_are_those_of_the_file_system() -> None:
    opened = 0
    for folder in sorted(path for path in SAMPLES.rglob("*") if path.is_dir()):
        try:
            shard = shardcore.open(folder, partial=True)
        except NotAShard:
            continue
        with shard:
            sizes = [(Path(shard.folder.uri) / member.name).stat().st_size for member in shard.members]
            assert [member.size for member in shard.members] == sizes
            assert shard.size == (None if shard.key_spaces else sum(sizes))
            assert shard.index_bytes <= sum(sizes)
            opened += 1
    assert opened > len(all_formats())


def test_info_is_one_object(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", small, "--json"]) == 0
    found = told(capsys)
    assert list(found) == ["uri", "format", "why", "version", "size", "objects", "sections", "fields"]
    assert (found["uri"], found["format"], found["version"], found["objects"]) == (small, "swh", "1", 12)
    assert found["size"] == Path(small).stat().st_size == found["sections"][-1]["stop"]
    assert found["sections"][0] == {"name": "header", "role": "header", "start": 0, "stop": 88}
    assert found["fields"]["header.version"] == 1
    assert found["fields"]["header.magic"].startswith(b"SWHShard".hex())


def test_info_shows_what_is_left(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`info` and `tree` of a truncated file print what is readable, with exit code 0."""
    cut = tmp_path / "cut.shard"
    cut.write_bytes(Path(small).read_bytes()[:1000])
    assert run(["info", str(cut), "--json"]) == 0
    both = capsys.readouterr()
    found = json.loads(both.out)
    assert found["fields"]["header.version"] == 1
    assert set(found["damage"]) == {"message", "span"}
    assert run(["tree", str(cut), "--json"]) == 0
    tree = told(capsys)
    assert "header" in [child["name"] for child in tree["children"]]
    assert tree["error"]
    for command in (["ls"], ["verify"], ["trace"], ["get"]):
        key = [KEY] if command[0] in ("trace", "get") else []
        assert run([*command, str(cut), *key]) == 3
        assert capsys.readouterr().err.count("\n") == 1


def members(node: dict[str, Any]) -> None:
    assert list(node)[:7] == ["name", "span", "value", "text", "role", "doc", "error"]
    assert list(node)[-1] == "children"
    assert set(node["span"]) <= {"source", "start", "stop"}
    for child in node["children"]:
        members(child)


def test_tree_is_nested(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tree", small, "--json", "--depth", "4"]) == 0
    root = told(capsys)
    members(root)
    header = root["children"][0]
    assert (header["name"], header["span"]) == ("header", {"start": 0, "stop": 88})
    assert header["children"][1]["value"] == 1
    assert run(["tree", small, "--json", "--depth", "0"]) == 0
    assert told(capsys)["children"] == []


@pytest.mark.parametrize("offset", ["40", "0x28", "0b101000", "0o50"])
def test_explain_is_a_path(small: str, offset: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", small, offset, "--json"]) == 0
    path = told(capsys)
    assert all({"name", "span", "value", "doc"} <= set(node) for node in path)
    assert [node["name"] for node in path][1:] == ["header", "objects_count"]
    assert (path[-1]["value"], path[-1]["span"]) == (12, {"start": 40, "stop": 48})
    assert path[-1]["doc"]
    assert run(["explain", small, offset]) == 0
    assert "objects_count = 12" in capsys.readouterr().out


def test_trace_tells_steps(small: str, damaged: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 for found, 1 for absent, 3 for damaged."""
    cases = [(small, KEY, "found", 0), (small, ABSENT, "absent", 1), (damaged, KEY, "damaged", 3)]
    for where, key, outcome, code in cases:
        assert run(["trace", where, key, "--json"]) == code
        trace = told(capsys)
        assert list(trace) == ["key", "outcome", "steps", "ending"]
        assert (trace["key"], trace["outcome"]) == (key, outcome)
        for step in trace["steps"]:
            names = ["title", "text", "spans", "values", "requests", "bytes", "why", "inputs", "meanings", "drawing"]
            assert list(step) == names
        assert run(["trace", where, key]) == code
        assert f"{outcome}: {key}" in capsys.readouterr().out
    assert run(["trace", small, "no hex"]) == 2


def test_trace_says_why_and_what_a_first_reader_pays(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", small, KEY]) == 0
    text = capsys.readouterr().out
    assert text.count("    why: ") == 11
    assert "    computed (not stored); from 0x1390–0x1393 · 4 bytes\n" in text
    assert "    2: 0x210 · 1 byte\n" in text
    assert "    h = 5 slots    slots per jump\n" in text
    assert run(["trace", small, KEY, "--cold"]) == 0
    text = capsys.readouterr().out
    with shardcore.open(small) as shard:
        paid = cold_trace(shard, KEY)
    assert text.startswith(f"Opening  [{cost_text(paid.opening)}]\n")
    assert f"Cold start: {cost_text(paid.total)}.\n" in text
    assert cost_text(paid.total).startswith("2 requests, 5,064 bytes")
    assert run(["trace", small, KEY, "--cold", "--json"]) == 0
    cold = told(capsys)["cold"]
    assert cold["total"] == {"requests": paid.total.requests, "bytes": 5064, "rounds": paid.total.rounds}
    assert cold["opening"]["requests"] + sum(step["requests"] for step in cold["steps"]) == paid.total.requests
    assert len(cold["steps"]) == 11


def test_explain_says_who_leads_there(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", small, "1200", "--leads", "--json"]) == 0
    found = told(capsys)
    assert list(found) == ["path", "leads", "more"]
    assert [lead["span"] for lead in found["leads"]] == [{"start": 4497, "stop": 4505}, {"start": 48, "stop": 56}]
    assert found["leads"][0]["names"] == ["index", "slot 0", "offset"]
    assert run(["explain", small, "1200", "--leads"]) == 0
    assert "0x1191–0x1198 · 8 bytes: index › slot 0 › offset\n" in capsys.readouterr().out
    assert run(["explain", small, "100", "--leads"]) == 0
    assert "No references.\n" in capsys.readouterr().out


@pytest.mark.parametrize("depth", ["structure", "index", "content"])
def test_verify_reports(small: str, damaged: str, depth: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", small, "--depth", depth, "--json"]) == 0
    report = told(capsys)
    assert list(report) == ["ok", "objects", "unverified", "findings"]
    assert report["ok"] is True
    assert (report["unverified"] == 0) == (depth == "content" or not report["objects"])
    code = run(["verify", damaged, "--depth", depth, "--json"])
    report = told(capsys)
    assert code == (0 if depth == "structure" else 1)
    assert report["ok"] is (code == 0)
    if code:
        finding = next(f for f in report["findings"] if f["code"] == "swh.slot-offset")
        assert {"severity", "code", "span", "message"} <= set(finding)
        assert finding["severity"] == "error"
        assert set(finding["span"]) == {"start", "stop"}


def test_locate_needs_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    spec = SHARDING | {"minishard_bits": 1, "shard_bits": 4}
    assert run(["locate", "neuroglancer", "5", "-O", f"spec={json.dumps(spec)}", "--json"]) == 0
    assert "2.shard" in json.dumps(told(capsys))
    for wrong in ("swh 5", "nope 1", "neuroglancer 5", "neuroglancer 5 -O spec", "neuroglancer 5 -O no_such=1"):
        assert run(["locate", *wrong.split()]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("sample", "unverified", "last"),
    [
        ("neuroglancer/damaged", 12, "No errors found, 1 warning. 12 objects have no checksum: content not verified."),
        ("des/archive", 10, "No errors found. 10 of 12 objects have no checksum: content not verified."),
        ("bloscpack/odd.blp", 3, "No errors found. 3 objects have no checksum: content not verified."),
        ("xorb/odd.xorb", 4, "No errors found, 1 warning. 4 objects have no checksum: content not verified."),
        ("swh/small.shard", 0, "No errors found. 12 objects compared with their checksums."),
        ("mdb/cache", 0, "No errors found. 20 objects compared with their checksums."),
        ("swh/damaged.shard", 0, "3 errors found. 12 objects compared with their checksums."),
    ],
)
def test_verify_never_claims_more_than_was_checked(
    sample: str, unverified: int, last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Contents without a checksum are counted as not verified; exit code and `ok` are about errors alone."""
    path = str(SAMPLES / sample)
    code = run(["verify", path])
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == last
    assert "sound" not in out
    assert run(["verify", path, "--json"]) == code
    report = told(capsys)
    assert (report["ok"], report["unverified"]) == (code == 0, unverified)
    run(["verify", path, "--depth", "structure"])
    assert capsys.readouterr().out.endswith("Contents were not read (depth structure).\n")


@pytest.mark.parametrize("name", ["damaged.des", "damaged.bin"])
def test_verify_always_prints_json(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / name
    damaged = SAMPLES / "des" / "damaged" / "20260105_2A_0000.des"
    file.write_bytes(damaged.read_bytes() if ".des" in name else b"x" * 99)
    assert run(["verify", str(file), "--json"]) == 3
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert report["ok"] is False
    assert [one["severity"] for one in report["findings"]] == ["error"]
    assert captured.err.startswith("shardcore: ")


def test_what_the_options_are_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["locate", "des", "5", "-O", "help"]) == 0
    assert "n_bits" in capsys.readouterr().out
    for command in ("pack", "convert"):
        assert run([command, "--help"]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert all(one.name in out for one in all_formats())


def test_info_decodes_numbers_as_the_tree_does(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SAMPLES / "bloscpack" / "array.blp")
    assert run(["info", path]) == 0
    assert "2 crc32" in capsys.readouterr().out
    assert run(["info", path, "--json"]) == 0
    assert told(capsys)["fields"]["header.checksum"] == 2


def test_a_remedy_names_options_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    error = LimitExceeded("a chunk of 2 GiB")
    assert program.report_error(error, "draw") == program.report_error(error, "get") == 3
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("; raise --limit-bytes of get or extract")
    assert second.endswith("; --limit-bytes raises the limit")
    trace = Trace("0", "damaged", (), error="a chunk of 2 GiB", remedy=Remedy.LIMIT)
    assert "get or extract" in "".join(trace_lines(trace))
