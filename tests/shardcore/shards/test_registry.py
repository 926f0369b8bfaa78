"""Recognising, opening and creating."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shardcore
from shardcore.errors import BadMagic, FormatError, NotAShard, ShardError, UsageError
from shardcore.shards import opening, registry
from shardcore.shards.format import Certainty, Format, Verdict
from shardcore.testing import CountingSource
from tests.hostile.des import entry, shard
from tests.hostile.making import put
from tests.shardcore.toy import LineShard

MAGICS = [b"SWHShard\0", b"blpk", b"HFRepoMetaData", b"XETBLOB", b"DES"]


def test_unknown_formats_are_named_with_the_known_ones() -> None:
    for name in ("nope", "", "../swh", "swh.layout"):
        with pytest.raises(UsageError, match="swh"):
            registry.format_of(name)


@given(st.binary(max_size=300), st.sampled_from([b"", *MAGICS]), st.booleans())
def test_any_bytes_are_opened_or_refused(data: bytes, magic: bytes, first: bool) -> None:
    content = magic + data if first else data + magic
    for call in (shardcore.detect, shardcore.open):
        try:
            call(content)
        except ShardError:
            continue
    with shardcore.open(content, partial=True) as shard:
        assert sum(s.size for s in shard.sections) == len(content)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("swh/small.shard", "begins with SWHShard .swh., but spec is an option of neuroglancer"),
        ("bloscpack/meta_0.blp", "begins with blpk .bloscpack"),
        ("mdb/derived/plain_no_tables.mdb", "begins with HFRepoMetaData .mdb"),
        ("des/tiny.des", "begins with DES2 .des"),
    ],
)
def test_an_option_does_not_override_a_magic(data: Path, name: str, sentence: str) -> None:
    spec = {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0, "hash": "identity"}
    spec |= {"minishard_bits": 0, "shard_bits": 0}
    for partial in (False, True):
        with pytest.raises(UsageError, match=sentence):
            shardcore.open(data / name, spec=spec, partial=partial)
    with shardcore.open(data / name, spec=spec, format="neuroglancer") as shard:
        assert shard.format == "neuroglancer"


def test_sources_of_others_stay_open(data: Path) -> None:
    source = shardcore.FileSource(data / "swh/README.md")
    with source:
        with pytest.raises(NotAShard):
            shardcore.open(source)
        with pytest.raises(NotAShard):
            shardcore.detect(source)
        assert source.read(0, 1)


def test_recognising_reads_either_end_once(data: Path) -> None:
    source = CountingSource(bytes(range(256)) * 2000)
    with pytest.raises(NotAShard):
        shardcore.detect(source)
    assert len(source.ranges) <= 4


def fake(certainty: Certainty | None, name: str = "fake") -> Format:
    verdict = None if certainty is None else Verdict(certainty, f"{name} says so")
    return Format(name, name, (), lambda probe: verdict, lambda probe, context: LineShard(probe.base.data))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        (Certainty.PARTLY, Certainty.MAGIC, "b"),
        (Certainty.MAGIC, Certainty.PARTLY, "a"),
        (Certainty.PARTLY, None, "a"),
        (Certainty.BESIDE, Certainty.INFERRED, "a"),
        (Certainty.PARTLY, Certainty.PARTLY, None),
        (None, None, None),
    ],
)
def test_the_surest_format_wins(
    monkeypatch: pytest.MonkeyPatch, first: Certainty | None, second: Certainty | None, winner: str | None
) -> None:
    formats = {"a": fake(first, "a"), "b": fake(second, "b")}
    monkeypatch.setattr(registry, "FORMATS", ("a", "b"))
    monkeypatch.setattr(registry, "format_of", formats.__getitem__)
    if winner is not None:
        assert opening.detect(b"x").format == winner
        assert opening.open(b"x").why == f"{winner} says so"
        return
    with pytest.raises(NotAShard) as caught:
        opening.detect(b"x")
    assert len(caught.value.candidates) == (2 if first is not None else 0)


def test_damage_gives_a_partial_shard_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_damaged(probe: Any, context: Any) -> Any:
        context.draft.add(shardcore.Section("head", shardcore.SectionRole.HEADER, 0, 4), fields={"x": 1})
        raise FormatError("broken", span=shardcore.Span("", 4, 5))

    broken = Format("b", "b", (), lambda probe: Verdict(Certainty.MAGIC, "b"), open_damaged)
    monkeypatch.setattr(registry, "FORMATS", ("b",))
    monkeypatch.setattr(registry, "format_of", lambda name: broken)
    with pytest.raises(FormatError):
        opening.open(b"0123456789")
    with opening.open(b"0123456789", partial=True) as shard:
        assert (shard.format, str(shard.damage), shard.why) == ("b", "broken (0x4 · 1 byte)", "b")
        assert shard.fields == {"head.x": 1}
        assert [s.name for s in shard.sections] == ["head", "unknown"]


def test_formats_that_only_read_cannot_create(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(opening, "format_of", lambda name: fake(None))
    with pytest.raises(UsageError, match="cannot be written"):
        opening.create(tmp_path / "x", format="fake")
    with pytest.raises(UsageError, match="no data sets"):
        opening.open(tmp_path, format="fake")


def test_a_mark_that_its_own_format_refuses_makes_no_shard(data: Path) -> None:
    """The file is unrecognised, not damaged."""
    whole = (data / "swh/small.shard").read_bytes()
    almost = whole[:8] + b"\x01" + whole[9:]
    for call in (shardcore.detect, shardcore.open):
        with pytest.raises(NotAShard, match="unrecognised format; swh: magic SWHShard without the zero") as caught:
            call(almost)
        assert caught.value.candidates == ("swh: magic SWHShard without the zero after it",)
    with shardcore.open(almost, partial=True) as shard:
        assert (shard.format, type(shard.damage)) == ("unknown", NotAShard)
    with shardcore.open(almost, format="swh", partial=True) as shard:
        assert (shard.format, type(shard.damage)) == ("swh", BadMagic)
        assert shard.fields["header.objects_count"] == 12


def test_a_cut_file_with_half_its_marks_is_damaged(data: Path) -> None:
    cut = (data / "des/none.des").read_bytes()[:-20]
    with shardcore.open(cut, partial=True) as shard:
        assert shard.format == "des"
        assert isinstance(shard.damage, FormatError)


def test_a_directory_is_listed_once_when_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listing a folder of very many files takes about a second."""
    put(tmp_path, "2024-01-15_00_0000.des", shard(b"x", [entry(b"one", 8, 1, 0, 1)]))
    listed: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(str(path)) or scandir(path))
    with shardcore.open(tmp_path) as found:
        assert found.format == "des"
    assert listed.count(str(tmp_path)) == 1
