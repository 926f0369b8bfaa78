"""Promises of the lookup, and of `locate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shardcore
from shardcore.errors import Cancelled, FormatError, SourceError, UsageError
from shardcore.formats.des.lookup import locate
from shardcore.progress import stopped_by
from tests.shardcore.formats.des.made import Stored, shard

DATA = Path(__file__).parents[3] / "data" / "des"


def test_trace_of_an_inline_object() -> None:
    with shardcore.open(DATA / "tiny.des") as opened:
        trace = opened.trace("b")
    spans = {step.title: [(s.start, s.stop) for s in step.spans] for step in trace.steps}
    wanted = {"Footer": [(104, 116)], "Header": [(0, 8)], "Count": [(18, 22)], "Walk": [(63, 104), (65, 66)]}
    assert spans.items() >= (wanted | {"Flags": [(66, 67)], "Place": [(67, 100)], "Payload": [(13, 18)]}).items()
    assert [(step.requests, step.bytes) for step in trace.steps] == [(0, 0)] * 7 + [(1, 5)]


def test_trace_of_a_deleted_object() -> None:
    path = DATA / "sidecar" / "20261103_51_0000.des"
    for deleted, cost in ((False, 0), (True, 1)):
        with shardcore.open(path, deleted=deleted) as opened:
            trace = opened.trace("gone")
            assert "GDPR" in next(step for step in trace.steps if step.title == "Sidecar").text
            assert trace.steps[-1].requests == cost


def test_finding_reads_nothing() -> None:
    data = bytearray(shard([Stored(b"a", b"hello", changes={"codec": 9}), Stored(b"b", b"text " * 100, "zstd")]))
    data[17] ^= 0xFF
    with shardcore.open(bytes(data)) as opened:
        assert "codec 9" in opened.find("a").error
        assert opened.find("b").row == 1
        assert [opened.trace(key).outcome for key in "ab"] == ["damaged"] * 2
        with pytest.raises(UsageError):
            opened.find("\ud800")


def test_locate() -> None:
    found = {"uid": "0042", "date": "20261103", "n_bits": 8, "rule": "digits", "number": 42, "hex": "2A"}
    assert locate("0042", date="2026-11-03T00:30:00+02:00") == found | {"names": "20261103_2A_*.des"}
    assert locate("a", date="2026-11-03", n_bits=16)["hex"] == "BE43"
    with pytest.raises(UsageError, match="date"):
        locate("0042")


def test_locate_with_zones(tmp_path: Path) -> None:
    s3 = {"bucket": "docs", "prefix": "des"}
    text = json.dumps({"n_bits": 8, "zones": [{"name": "low", "range": {"start": 0, "end": 127}, "s3": s3}]})
    path = tmp_path / "zones.json"
    path.write_text(text)
    for zones in (text, path, str(path)):
        found = locate("0042", date="2026-11-03", zones=zones)
        assert (found["zone"], found["uri"]) == ("low", "s3://docs/des/")
    assert locate("0200", date="2026-11-03", zones=text)["zone"] is None
    for error, options in (
        (UsageError, {"n_bits": 12, "zones": text}),
        (SourceError, {"zones": tmp_path / "none.json"}),
        (FormatError, {"zones": "{}"}),
    ):
        with pytest.raises(error):
            locate("0042", date="2026-11-03", **options)


def test_all_of_very_many_equal_uids_are_found_without_creating_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with shardcore.open(shard([Stored(b"the same uid", b"x")] * 20_000), format="des") as opened:
        made: list[int] = []
        refs = type(opened.objects).refs
        monkeypatch.setattr(type(opened.objects), "refs", lambda self, rows: made.append(len(rows)) or refs(self, rows))
        found = opened.find_all("the same uid")
        assert (len(found), made) == (20_000, [])
        assert found[-1] == opened.find("the same uid")
        assert sum(made) <= 3
        assert next(iter(found)).row == 0
        assert max(made) <= 1024

        def cancel() -> None:
            raise Cancelled

        with stopped_by(cancel), pytest.raises(Cancelled):
            list(found)
