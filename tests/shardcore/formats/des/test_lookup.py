"""Promises of the lookup, and of `locate`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import shardcore
from shardcore.errors import FormatError, SourceError, UsageError
from shardcore.formats.des.lookup import locate
from tests.shardcore.formats.des.made import Stored, shard, write

DATA = Path(__file__).parents[3] / "data" / "des"


def test_trace_of_an_inline_object() -> None:
    with shardcore.open(DATA / "tiny.des") as opened:
        trace = opened.trace("b")
    spans = {step.title: [(s.start, s.stop) for s in step.spans] for step in trace.steps}
    assert spans["Footer"] == [(104, 116)]
    assert spans["Header"] == [(0, 8)]
    assert spans["Count"] == [(18, 22)]
    assert spans["Walk"] == [(63, 104), (65, 66)]
    assert spans["Flags"] == [(66, 67)]
    assert spans["Place"] == [(67, 100)]
    assert spans["Payload"] == [(13, 18)]
    assert [(step.requests, step.bytes) for step in trace.steps] == [(0, 0)] * 7 + [(1, 5)]


def test_trace_of_a_missing_bigfile(tmp_path: Path) -> None:
    path = write(tmp_path, "x.des", [Stored(b"film", b"x" * 99, big=True)])
    (tmp_path / "_bigFiles" / hashlib.sha256(b"x" * 99).hexdigest()).unlink()
    with shardcore.open(path) as opened:
        trace = opened.trace("film")
        assert trace.outcome == "found"
        with pytest.raises(SourceError):
            opened.read(opened.find("film"))


def test_trace_of_a_deleted_object() -> None:
    path = DATA / "sidecar" / "20261103_51_0000.des"
    for deleted, cost in ((False, 0), (True, 1)):
        with shardcore.open(path, deleted=deleted) as opened:
            trace = opened.trace("gone")
            assert "GDPR" in next(step for step in trace.steps if step.title == "Sidecar").text
            assert trace.steps[-1].requests == cost


def test_trace_of_damaged_content() -> None:
    data = bytearray(shard([Stored(b"a", b"text " * 100, "zstd")]))
    data[12] ^= 0xFF
    with shardcore.open(bytes(data)) as opened:
        assert opened.find("a").row == 0
        assert opened.trace("a").outcome == "damaged"


def test_finding_reads_nothing() -> None:
    data = shard([Stored(b"a", b"hello", changes={"codec": 9})])
    with shardcore.open(data) as opened:
        assert "codec 9" in opened.find("a").error
        assert opened.trace("a").outcome == "damaged"


def test_a_key_without_utf8_form() -> None:
    with shardcore.open(DATA / "tiny.des") as opened, pytest.raises(UsageError):
        opened.find("\ud800")


def test_locate() -> None:
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
    with pytest.raises(UsageError, match="date"):
        locate("0042")
