"""Promises of the lookup, and of `locate`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import shardcore
from shardcore.errors import FormatError, SourceError, UsageError
from shardcore.formats.des.lookup import locate
from shardcore.shards.trace import Step
from tests.shardcore.formats.des.made import Stored, shard, write

DATA = Path(__file__).parents[3] / "data" / "des"


def _steps(steps: tuple[Step, ...]) -> list[str]:
    return [step.title for step in steps]


def test_trace_of_an_inline_object() -> None:
    """Each step of the worked example points at the bytes that it tells of, and costs what it reads."""
    with shardcore.open(DATA / "tiny.des") as opened:
        trace = opened.trace("b")
    assert _steps(trace.steps) == ["Footer", "Header", "Count", "Walk", "Flags", "Place", "Sidecar", "Payload"]
    spans = {step.title: [(s.start, s.stop) for s in step.spans] for step in trace.steps}
    assert spans["Footer"] == [(104, 116)]
    assert spans["Header"] == [(0, 8)]
    assert spans["Count"] == [(18, 22)]
    assert spans["Walk"] == [(63, 104), (65, 66)]
    assert spans["Flags"] == [(66, 67)]
    assert spans["Place"] == [(67, 100)]
    assert spans["Payload"] == [(13, 18)]
    values = {step.title: step.values for step in trace.steps}
    assert values["Footer"] == {"index_size": 86, "index_start": 18}
    assert values["Place"]["offset"] == 13
    assert values["Payload"] == {"size": 5, "sha256": hashlib.sha256(b"shard").hexdigest()}
    assert [(step.requests, step.bytes) for step in trace.steps] == [(0, 0)] * 7 + [(1, 5)]


def test_trace_of_a_bigfile() -> None:
    """A BigFile's trace has its flag, its hash, and the digest of the external file."""
    with shardcore.open(DATA / "big" / "20261103_0A_0000.des") as opened:
        ref = opened.find("movie")
        trace = opened.trace("movie")
    assert trace.outcome == "found"
    values = {step.title: step.values for step in trace.steps}
    assert values["Flags"] == {"flags": 1}
    assert values["Place"] == {"hash": ref.extras["hash"], "size": 5000}
    assert values["Metadata"] == {"meta": {"kind": "video"}}
    assert values["Payload"] == {"size": 5000, "sha256": ref.extras["hash"]}


def test_trace_of_a_missing_bigfile(tmp_path: Path) -> None:
    """The entry is found even when its external file is not; the last step says so, and reading fails."""
    path = write(tmp_path, "x.des", [Stored(b"film", b"x" * 99, big=True)])
    (tmp_path / "_bigFiles" / hashlib.sha256(b"x" * 99).hexdigest()).unlink()
    with shardcore.open(path) as opened:
        trace = opened.trace("film")
        assert (trace.outcome, trace.ending) == ("found", "entry found, content elsewhere")
        assert "is not beside the shard" in trace.steps[-1].text
        with pytest.raises(SourceError):
            opened.read(opened.find("film"))


def test_trace_of_version_1() -> None:
    """Version 1 has no flags to tell of."""
    with shardcore.open(DATA / "v1.des") as opened:
        trace = opened.trace("old-2")
    assert _steps(trace.steps) == ["Footer", "Header", "Count", "Walk", "Place", "Sidecar", "Payload"]


def test_trace_of_a_deleted_object() -> None:
    """A tombstone is told, and the payload is not read unless deleted data is asked for."""
    path = DATA / "sidecar" / "20261103_51_0000.des"
    for deleted, cost in ((False, 0), (True, 1)):
        with shardcore.open(path, deleted=deleted) as opened:
            trace = opened.trace("gone")
            assert "GDPR" in next(step for step in trace.steps if step.title == "Sidecar").text
            assert trace.steps[-1].requests == cost


def test_trace_of_an_absent_uid() -> None:
    """Absence is proved by the walk over the whole index."""
    with shardcore.open(DATA / "tiny.des") as opened:
        trace = opened.trace("c")
    assert trace.outcome == "absent"
    assert trace.steps[-1].title == "Walk"
    assert [(s.start, s.stop) for s in trace.steps[-1].spans] == [(18, 104)]


def test_trace_of_damaged_content() -> None:
    """A payload that does not expand makes the outcome `damaged`, though the entry is found."""
    data = bytearray(shard([Stored(b"a", b"text " * 100, "zstd")]))
    data[12] ^= 0xFF
    with shardcore.open(bytes(data)) as opened:
        assert opened.find("a").row == 0
        trace = opened.trace("a")
        assert trace.outcome == "damaged"
        assert trace.steps[-1].title == "Damaged"


def test_finding_reads_nothing() -> None:
    """`find` does not touch the payload, whatever is wrong with it."""
    data = shard([Stored(b"a", b"hello", changes={"codec": 9})])
    with shardcore.open(data) as opened:
        assert "codec 9" in opened.find("a").error
        assert opened.trace("a").outcome == "damaged"


def test_a_key_without_utf8_form() -> None:
    """A text that no file can hold is a mistake of the caller."""
    with shardcore.open(DATA / "tiny.des") as opened, pytest.raises(UsageError):
        opened.find("\ud800")


def test_locate() -> None:
    """The routing rule alone gives number, printed form and file names."""
    assert locate("0042", date="2026-11-03T00:30:00+02:00") == {
        "uid": "0042",
        "date": "20261103",
        "n_bits": 8,
        "rule": "digits",
        "number": 42,
        "hex": "2A",
        "names": "20261103_2A_*.des",
    }
    assert locate("a", date="2026-11-03", n_bits=16)["hex"] == "BE43"


def test_locate_with_zones(tmp_path: Path) -> None:
    """A zones file adds the zone and its address, as text or as a path; it rules the number of bits."""
    s3 = {"bucket": "docs", "prefix": "des"}
    text = json.dumps({"n_bits": 8, "zones": [{"name": "low", "range": {"start": 0, "end": 127}, "s3": s3}]})
    path = tmp_path / "zones.json"
    path.write_text(text)
    for zones in (text, path, str(path)):
        found = locate("0042", date="2026-11-03", zones=zones)
        assert (found["zone"], found["uri"]) == ("low", "s3://docs/des/")
    assert locate("0200", date="2026-11-03", zones=text)["zone"] is None
    with pytest.raises(UsageError, match="zones file declares 8"):
        locate("0042", date="2026-11-03", n_bits=12, zones=text)
    with pytest.raises(SourceError):
        locate("0042", date="2026-11-03", zones=tmp_path / "none.json")
    with pytest.raises(FormatError):
        locate("0042", date="2026-11-03", zones="{}")


def test_locate_needs_a_date() -> None:
    """A uid without a date has no shard."""
    with pytest.raises(UsageError, match="date"):
        locate("0042")
