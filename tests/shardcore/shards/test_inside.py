"""Opening inside: a shard, an array or an archive in an object, wherever that is stored."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shardcore
from shardcore.errors import KeyAbsent, LimitExceeded, NotAShard, ShardError, UsageError
from shardcore.model.inside_path import inside_link, inside_text, parse_inside, split_inside
from shardcore.shards import inner_source
from shardcore.shards.inner_source import DecodedSource, WindowSource
from tests.remote.servers import RangeServer

DATA = Path(__file__).parents[2] / "data"
CONTAINERS = DATA / "containers"
ARRAY = np.arange(24, dtype="<f4").reshape(2, 3, 4)


def packed(path: Path, format: str, objects: Mapping[str | None, bytes], **options: object) -> Path:
    with shardcore.create(path, format=format, **options) as writer:
        for key, data in objects.items():
            writer.add(key, data)
    return path


def zipped(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data, zipfile.ZIP_DEFLATED if name.endswith("z") else zipfile.ZIP_STORED)
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (sorted((DATA / "bloscpack" / "made").glob("large.blp"))[0], "bloscpack"),
        (DATA / "swh" / "medium.shard", "swh"),
        (DATA / "xorb" / "two_chunks.xorb", "xorb"),
        (next((DATA / "mdb" / "cas" / "shard-cache").glob("e74f*.mdb")), "mdb"),
        (CONTAINERS / "array.npy", "npy"),
        (CONTAINERS / "model.safetensors", "safetensors"),
        (CONTAINERS / "members.zip", "zip"),
        (CONTAINERS / "members.gz", "gzip"),
        (CONTAINERS / "frames.zst", "zstd"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_every_kind_opens_inside_des(tmp_path: Path, data: Path, format: str, codec: str) -> None:
    path = packed(tmp_path / "archive.des", "des", {"2090": data.read_bytes()}, codec=codec)
    with shardcore.open(path) as outer, shardcore.open(data) as alone:
        inner = shardcore.open_inside(outer, "2090")
        kind = WindowSource if codec == "none" or outer.find("2090").codec == "none" else DecodedSource
        assert isinstance(inner.source, kind)
        assert inner.format == alone.format == format
        assert inner.sections == alone.sections
        assert inner.fields == alone.fields
        assert list(inner) == list(alone)
        assert [node.span for node in inner.explain(9)] == [node.span for node in alone.explain(9)]
        assert inner.verify().ok == alone.verify().ok
        for key in list(alone)[:3]:
            if format != "mdb":
                assert inner[key] == alone[key]


def test_a_shard_in_a_zip_in_des(tmp_path: Path) -> None:
    swh = (DATA / "swh" / "medium.shard").read_bytes()
    members = {"a.shard": swh, "b.z": swh, "in/c.zip": zipped({"array.npy": (CONTAINERS / "array.npy").read_bytes()})}
    path = packed(tmp_path / "archive.des", "des", {"x/y#z": zipped(members)})
    with shardcore.open(path) as outer, shardcore.open(swh) as alone:
        key = next(iter(alone))
        for member in ("a.shard", "b.z"):
            with shardcore.open_inside(outer, "x/y#z", member) as inner:
                assert inner[key] == alone[key]
        array = shardcore.open_inside(outer, "x/y#z", "in/c.zip", "array.npy")
        assert np.array_equal(array.array("all"), ARRAY)
    link = inside_link(str(path), ("x/y#z", "in/c.zip", "array.npy"))
    assert link == f"{path}#/x%2Fy%23z/in%2Fc.zip/array.npy"
    with shardcore.open(link) as inner:
        assert np.array_equal(inner.array("all"), ARRAY)
        assert inner.source.uri == link


def test_safetensors_in_mdb(tmp_path: Path) -> None:
    packed(tmp_path / "shards", "mdb", {None: (CONTAINERS / "model.safetensors").read_bytes()}, folder=True)
    path = next((tmp_path / "shards" / "xet" / "shard-cache").iterdir())
    xorbs = tmp_path / "shards" / "xet" / "xorbs" / "xorbs"
    with shardcore.open(path, xorbs=xorbs) as outer:
        key = next(ref.key for ref in outer.objects if ref.kind == "file")
        with shardcore.open_inside(outer, key) as inner:
            assert np.array_equal(inner.array("weight"), ARRAY)


def test_a_data_set_opens_inside(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    for number, name in enumerate(("array.npy", "members.zip")):
        packed(folder / f"{number}.des", "des", {name: (CONTAINERS / name).read_bytes()})
    with shardcore.open(folder) as outer:
        assert shardcore.open_inside(outer, "members.zip").format == "zip"
        assert np.array_equal(shardcore.open_inside(outer, "array.npy").array("all"), ARRAY)


# --- links ---


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_any_key_survives_a_link(keys: list[str]) -> None:
    text = inside_text(keys)
    assert parse_inside(text) == tuple(keys)
    assert "#" not in text
    assert text.isprintable()
    assert split_inside(inside_link("a b#c.des", keys) + "#0x10-20") == ("a b#c.des", tuple(keys), "#0x10-20")
    assert inside_link(inside_link("a", keys), keys) == inside_link("a", [*keys, *keys])


@given(st.text())
def test_any_text_is_a_link_or_refused(text: str) -> None:
    try:
        split_inside(f"a#/{text}")
        parse_inside(f"/{text}")
    except UsageError:
        pass


def test_a_file_with_such_a_name_is_opened_as_it_is_called(tmp_path: Path) -> None:
    """A folder whose name ends with `#` is no link into a file."""
    (tmp_path / "a#").mkdir()
    path = packed(tmp_path / "a#" / "b.des", "des", {"k": b"content"})
    with shardcore.open(str(path)) as shard:
        assert shard["k"] == b"content"


# --- refusals ---


def test_what_is_no_shard_is_refused_and_nothing_stays_open(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.des", "des", {"text": b"just some text, no shard", "empty": b""})
    for link, error in (("text", NotAShard), ("empty", NotAShard), ("none", KeyAbsent), ("text/x", NotAShard)):
        with pytest.raises(error):
            shardcore.open(f"{path}#/{link}")
    with pytest.raises(UsageError):
        shardcore.open(f"{path}#/" + "/".join(["text"] * 17))
    with pytest.raises(UsageError, match="range of bytes"):
        shardcore.open(f"{path}#/text#12")
    with shardcore.open(f"{path}#/text", partial=True) as shard:
        assert shard.format == "unknown"
        assert shard.source.read(0, 4) == b"just"


def test_contents_that_are_too_long_are_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inner_source, "DEFAULT_LIMIT", 1 << 20)
    bomb = zipped({"bomb.z": bytes(3 << 20)})
    with shardcore.open(bomb) as outer, pytest.raises(LimitExceeded):
        shardcore.open_inside(outer, "bomb.z")
    with shardcore.open(gzip.compress(gzip.compress(bytes(3 << 20)))) as outer, pytest.raises(LimitExceeded):
        shardcore.open_inside(outer, "0", "0", "0")


def test_long_contents_are_kept_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inner_source, "IN_MEMORY", 1000)
    calls = []
    npy = io.BytesIO()
    np.save(npy, np.arange(10_000))
    with shardcore.open(zipped({"a.z": npy.getvalue()})) as outer:
        stream = outer.stream
        monkeypatch.setattr(outer, "stream", lambda ref: (calls.append(ref.key), stream(ref))[1])
        inner = shardcore.open_inside(outer, "a.z")
        assert np.array_equal(inner.array("all"), np.arange(10_000))
        assert inner.source.read(0, 6) == b"\x93NUMPY"
        assert calls == ["a.z"]
        inner.close()
        with pytest.raises(ShardError):
            inner.source.read(0, 6)


def test_deleted_objects_keep_their_rules(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.des", "des", {"k": (CONTAINERS / "array.npy").read_bytes()})
    shardcore.tombstone(path, ["k"], date="2026-03-05T09:30:00+00:00")
    with pytest.raises(ShardError):
        shardcore.open(f"{path}#/k")
    with shardcore.open(f"{path}#/k", deleted=True) as inner:
        assert inner.chosen.get("deleted")
        assert np.array_equal(inner.array("all"), ARRAY)


def test_identity_follows_the_file_and_the_key(tmp_path: Path) -> None:
    """Caches never mix two objects, nor one object of two files."""
    npy = (CONTAINERS / "array.npy").read_bytes()
    one = packed(tmp_path / "1.des", "des", {"a": npy, "b": npy})
    two = packed(tmp_path / "2.des", "des", {"a": npy})
    found = set()
    for link in (f"{one}#/a", f"{one}#/b", f"{two}#/a"):
        with shardcore.open(link) as shard:
            found.add(shard.source.identity)
    assert len(found) == 3


# --- remote ---


def test_a_stored_object_costs_ranges_only(tmp_path: Path) -> None:
    """8 MB lie around it in a remote archive."""
    big = np.random.default_rng(1).bytes(4 << 20)
    objects = {"x": big, "m": (CONTAINERS / "model.safetensors").read_bytes(), "y": big}
    path = packed(tmp_path / "a.des", "des", objects, codec="none")
    with RangeServer({"/a.des": path}) as server:
        with shardcore.open(f"{server.url}/a.des#/m") as inner:
            opened = len(server.log)
            assert np.array_equal(inner.array("weight"), ARRAY)
            assert inner.tape is not None
        assert opened <= 8
        assert len(server.log) - opened <= 2
        assert server.log.sent < 1 << 20
