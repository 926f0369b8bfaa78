from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.errors import FormatError, LimitExceeded, Truncated, Unsupported, UsageError
from shardcore.formats.bloscpack.layout import CHECKSUMS, METADATA_HEADER, Checksum
from shardcore.formats.bloscpack.metadata import (
    array_info,
    decode_metadata,
    parse_dtype,
    read_metadata_section,
    write_metadata_section,
)
from shardcore.formats.bloscpack.tree import json_node
from shardcore.model.finding import Severity
from shardcore.model.span import Span
from shardcore.testing import walk
from tests.shardcore.formats.bloscpack.chunks import memcpy
from tests.shardcore.formats.bloscpack.files import File

TEXT = json.dumps({"größe": [1, {"a": 'x,y}]"'}, []], "b": None, "": {}}, ensure_ascii=False).encode()


def section_of(**fields: int | bytes) -> bytes:
    values = {"magic_format": b"JSON", "meta_checksum": 1, "meta_size": 10, "max_meta_size": 20, "meta_comp_size": 10}
    return METADATA_HEADER.pack(**(values | fields))


def file_of(**options: Any) -> bytes:
    return File([memcpy(b"abc")], [3], **options).write()


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"magic_format": b"YAML"}, ["magic_format"]),
        ({"magic_format": b"JSON    "}, []),  # files pad with zeros, the specification says spaces
        ({"meta_options": 1}, ["meta_options"]),
        ({"meta_codec": 2}, ["meta_codec"]),
        ({"meta_comp_size": 21}, ["meta_comp_size"]),
    ],
)
def test_broken_rules_are_named(fields: dict[str, int | bytes], names: list[str]) -> None:
    section = read_metadata_section(section_of(**fields), 32, 1000)
    assert (list(section.problems), section.stop) == (names, 88)


def test_impossible_sections_are_refused_and_expansion_is_bounded() -> None:
    def text_of(bomb: bytes = bytes(10), limit: int = 2**24, **fields: int) -> bytes:
        return decode_metadata(read_metadata_section(section_of(**fields), 32, 10**6), bomb, limit=limit)

    bomb = zlib.compress(bytes(2**22))
    fields = {"meta_codec": 1, "meta_comp_size": len(bomb), "max_meta_size": len(bomb)}
    for error, act in (
        (Truncated, lambda: text_of(max_meta_size=2**32 - 1)),
        (Truncated, lambda: read_metadata_section(section_of()[:31], 32, 1000)),
        (FormatError, lambda: text_of(meta_checksum=9)),
        (FormatError, lambda: text_of(bomb, meta_size=100, **fields)),
        (LimitExceeded, lambda: text_of(bomb, 2**20, meta_size=2**22, **fields)),
        (Unsupported, lambda: text_of(meta_codec=7)),
        (UsageError, lambda: write_metadata_section(b"{}", room=1)),
    ):
        with pytest.raises(error):
            act()


@pytest.mark.parametrize("text", [b"{}", TEXT, json.dumps(list(range(500))).encode()])
@pytest.mark.parametrize("kind", CHECKSUMS, ids=lambda kind: kind.name)
def test_sections_are_written_as_they_are_read(text: bytes, kind: Checksum) -> None:
    data = write_metadata_section(text, kind=kind)
    section = read_metadata_section(data[:32], 0, len(data))
    assert section.stop == len(data) == 32 + 10 * len(text) + kind.size
    assert section.codec == ("zlib" if len(text) > 1000 else "none")
    stored = data[section.stored.start : section.stored.stop]
    assert decode_metadata(section, stored) == text
    assert section.digest_problem(stored, data[section.digest.start :]) == ""
    assert not any(data[section.padding.start : section.padding.stop])


@pytest.mark.parametrize("codec", [0, 1])
@pytest.mark.parametrize("checksum", range(9))
def test_every_codec_and_digest(codec: int, checksum: int) -> None:
    value = {"a": ["x", 1.5, {"b": None}]}
    data = bytearray(file_of(metadata=value, meta_codec=codec, meta_checksum=checksum))
    with shardcore.open(bytes(data)) as shard:
        assert shard.metadata == json.loads(str(shard.fields["metadata.json"])) == value
        assert shard.verify().findings == ()
    data[32 + 32 + 4] ^= 0x40
    with shardcore.open(bytes(data)) as shard:
        assert shard.read(shard.find("0")) == b"abc"
        codes = {f.code for f in shard.verify().findings if f.severity is Severity.ERROR}
        assert ("bloscpack.metadata-digest" in codes) == (checksum > 0)


@pytest.mark.parametrize(
    "text",
    [
        *(b"{", b"\xff\xfe", b'{"a": 1} x', b"", b"[" * 100_000, b"1" * 5000),
        *(b"[" * 300 + b"]" * 300, b'{"a":' * 300 + b"1" + b"}" * 300),
    ],
)
def test_text_that_is_not_json_is_damage_of_the_metadata_only(text: bytes) -> None:
    with shardcore.open(file_of(metadata=text)) as shard:
        assert shard.read(shard.find("all")) == b"abc"
        with pytest.raises(FormatError):
            _ = shard.metadata
        assert "bloscpack.metadata" in {f.code for f in shard.verify().findings}
        assert any(node.error for node in walk(shard.tree))
    with shardcore.open(file_of(metadata=json.dumps("[" * 300).encode())) as shard:
        assert shard.metadata == "[" * 300


def test_json_nodes_have_exact_bytes() -> None:
    root = json_node(TEXT, "", 100)
    assert (root.span.start, root.span.stop) == (100, 100 + len(TEXT))
    spans = {node.name: TEXT[node.span.start - 100 : node.span.stop - 100].decode() for node in root.children}
    assert spans == {"größe": '"größe": [1, {"a": "x,y}]\\""}, []]', "b": '"b": null', "": '"": {}'}


def test_groups_of_json_nodes_have_the_bytes_of_their_members() -> None:
    for group in json_node(json.dumps([*range(2500)], indent=2).encode(), "").children:
        assert group.span == Span("", group.children[0].span.start, group.children[-1].span.stop)


def test_json_nodes_with_much_space() -> None:
    data = b'{%b"a" :%b[1%b,2],"b":3%b}' % ((b" " * 300,) * 4)
    root = json_node(data, "")
    spans = [data[node.span.start : node.span.stop] for node in root.children]
    assert spans == [data[data.index(b'"a"') : data.index(b"]") + 1], b'"b":3']
    inner = root.children[0].children
    assert [(node.name, node.value, node.span.size) for node in inner] == [("[0]", 1, 1), ("[1]", 2, 1)]


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("'<f8'", "<f8"),
        ("<f8", "<f8"),
        ("int64", "int64"),
        ("[('a', '<i4'), ('b', '|u1', (3,))]", [("a", "<i4"), ("b", "|u1", (3,))]),
        ([["a", "<i4"], ["b", [["c", "<f8"]]]], [("a", "<i4"), ("b", [("c", "<f8")])]),
        ("'|S3'", "S3"),
        ("'<M8[ns]'", "<M8[ns]"),
    ],
)
def test_element_types(text: object, dtype: object) -> None:
    assert parse_dtype(text) == np.dtype(dtype)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "text",
    [
        *("__import__('os').system('true')", "'<f8' if True else 1", "[('a', lambda: 1)]", "('<f8'", "[" * 5000),
        *("'x' * 9", "''.join(['a'])", 7, None, {"a": 1}, [["a"]], [[1, "<f8"]], "nonsense", "'V99999999999999'"),
        *("'<f8'" + " " * 70_000, "'O'", "|O8", "[('a', 'O')]"),
        # The time of NumPy's own parser grows with the square of the length.
        *("9" * 60000, "'" + " " * 60000 + "'", "(" * 60000, [["a", " " * 60000]], [[["a", "i4"]] * 2] * 9999),
    ],
    ids=lambda text: str(text)[:9],
)
def test_other_element_types_are_refused_and_never_evaluated(text: object) -> None:
    with pytest.raises((FormatError, Unsupported)):
        parse_dtype(text)


@pytest.mark.parametrize(
    "change", [*({"shape": shape} for shape in ("x", [-1], [1.5], [True], [1] * 65)), {"order": "Z"}, {"dtype": 1}]
)
def test_descriptions_that_make_no_sense(change: dict[str, object]) -> None:
    with pytest.raises(FormatError):
        array_info({"container": "numpy", "dtype": "'<f8'", "shape": [2], "order": "C"} | change)


def test_an_array_comes_back() -> None:
    for shape, ok in (([2, 3], True), ([2, 4], False)):
        metadata = {"container": "numpy", "dtype": "'<u2'", "shape": shape, "order": "F"}
        plain = np.arange(6, dtype="<u2").tobytes()
        with shardcore.open(File([memcpy(plain, 2)], [12], metadata=metadata).write()) as shard:
            assert shard.verify().ok == ok
            if ok:
                assert shard.array("all").tolist() == [[0, 2, 4], [1, 3, 5]]
            else:
                with pytest.raises(FormatError):
                    shard.array("all")
