"""Manifests: which file becomes the object of which key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shardcore.errors import SourceError, UsageError
from shardcore.model.options import Option, OptionPurpose, OptionType
from shardcore.writing.inputs import InputItem
from shardcore.writing.manifest import ManifestReader

FACTS = (Option("meta", OptionType.JSON, "Metadata.", OptionPurpose.FACT),)


def items(where: Path, text: str, facts: tuple[Option, ...] = FACTS, **more: Any) -> list[InputItem]:
    (where / "m.json").write_text(text, encoding="utf-8")
    manifest = ManifestReader(where / "m.json", facts, more.get("format", "des"))
    try:
        return list(manifest.items(lambda name: None))
    finally:
        manifest.close()


def test_json_lines(tmp_path: Path) -> None:
    line = '{"path": "a/b.txt", "key": "k", "meta": {"x": 1}}'
    text = f'\ufeff{line}\n\n{{"path": "c"}}\n{{"path": "/d", "key": "", "meta": null}}'
    first, second, third = items(tmp_path, text)
    place = str(tmp_path / "a/b.txt")
    assert (first.key, first.content, first.name, first.facts) == ("k", place, "a/b.txt", {"meta": {"x": 1}})
    assert (second.key, second.content) == (None, str(tmp_path / "c"))
    assert (third.key, third.content, third.facts) == ("", "/d", {})


OBJECTS = [
    {"key": "5", "path": "5.index", "size": 1, "sha256": "ab" * 32},
    {"key": "5", "path": "5", "size": 1, "sha256": "ab" * 32, "part": "fragments"},
    {"key": None, "path": "", "size": 0, "sha256": "", "state": "unused"},
    {"key": "6", "path": "six", "size": 1, "sha256": "ab" * 32},
]


@pytest.mark.parametrize("form", ["by line", "one line", "indented"])
def test_the_manifest_of_extract(tmp_path: Path, form: str) -> None:
    """Parts are joined to their object; unused slots are skipped."""
    lines = ",\n  ".join(json.dumps(one) for one in OBJECTS)
    whole = {"uri": "x", "format": "des", "objects": OBJECTS}
    text = {
        "by line": f'{{\n "uri": "x",\n "format": "des",\n "objects": [\n  {lines}\n ]\n}}\n',
        "one line": json.dumps(whole),
        "indented": json.dumps(whole, indent=4),
    }[form]
    five, six = items(tmp_path, text)
    parts = {"fragments": str(tmp_path / "5")}
    assert (five.key, five.content, dict(five.parts)) == ("5", str(tmp_path / "5.index"), parts)
    assert (six.key, six.content, dict(six.parts)) == ("6", str(tmp_path / "six"), {})


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nonsense", r"line 2: it is not JSON"),
        ("[1]", r"line 2: \[1\] is not an object"),
        ('{"key": "k"}', "line 2: `path` is missing"),
        ('{"path": ""}', "line 2: `path` is missing"),
        ('{"path": "a", "key": 5}', "line 2: a key must be a string, not 5"),
        ('{"path": "a", "colour": 1}', "line 2: des cannot store 'colour' \\(supported: meta\\)"),
        ('{"path": "", "key": "k", "error": "damaged"}', "line 2: 'k' has no file: damaged"),
        ('{"path": "a", "key": "other", "part": "fragments"}', "line 2: the part 'fragments' must follow its object"),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, line: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        items(tmp_path, f'{{"path": "a"}}\n{line}\n')
    assert str(caught.value).count("line 2") == 1


EXTRACTED = '{\n "format": "des",\n "objects": [\n  {"path": "a"},\n  {"key": "k", "state": "deleted"}\n ]\n}\n'


@pytest.mark.parametrize(
    ("text", "is_one", "count"),
    [("", True, 0), ('{"path": "a", "key": "k"}\n', True, 1), ('{"text": "else"}\n', False, 0), (EXTRACTED, True, 1)],
)
def test_the_files_of_a_manifest(tmp_path: Path, text: str, is_one: bool, count: int) -> None:
    (tmp_path / "m.jsonl").write_text(text)
    manifest = ManifestReader(tmp_path / "m.jsonl", (), "")
    assert (manifest.is_one, len(list(manifest.paths()))) == (is_one, count)
    manifest.close()


def test_what_is_no_manifest(tmp_path: Path) -> None:
    for text in ('{\n"a": 1\n}', '{\n "objects": [\n  {"path": "a"},\n'):
        with pytest.raises(UsageError):
            items(tmp_path, text)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name, why in (("bytes", "cannot read"), ("missing", "cannot open .*: No such file")):
        with pytest.raises(SourceError, match=why):
            ManifestReader(tmp_path / name, FACTS, "des")
