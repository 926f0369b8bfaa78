"""Notes on bytes: kept by content, beside the file when asked, never lost, never mixed up."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copy, copytree

import pytest

import shardcore
from shardcore import FormatError, LimitExceeded, Shard, SourceError, Span, UsageError
from shardcore.operations import notes as module
from shardcore.operations.notes import (
    MOST_LETTERS,
    Note,
    add_note,
    keep_beside,
    note_place,
    notes_markdown,
    open_notes,
    remove_notes,
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "shardscope" / "notes"


@pytest.fixture
def file(tmp_path: Path, data: Path) -> Path:
    return Path(copy(data / "swh" / "small.shard", tmp_path / "small.shard"))


def noted(path: Path, *notes: Note) -> None:
    with shardcore.open(path) as shard:
        book = open_notes(shard)
        for note in notes:
            book = add_note(shard, book, note)


def texts(path: Path) -> list[str]:
    with shardcore.open(path) as shard:
        return [note.text for note in open_notes(shard).notes]


FIRST, SECOND = Note(Span("", 72, 80), "the size", "2020-01-01T00:00:00+00:00"), Note(Span("", 8, 16), "zeros")


def test_notes_are_found_again_after_a_rename(file: Path, tmp_path: Path) -> None:
    noted(file, FIRST, SECOND)
    other = tmp_path / "elsewhere" / "other.bin"
    other.parent.mkdir()
    file.rename(other)
    assert texts(other) == ["zeros", "the size"]
    with shardcore.open(other) as shard:
        kept = open_notes(shard).notes
    assert kept[1] == FIRST
    assert kept[0].created


@pytest.mark.parametrize("at", [-1, 600])
def test_notes_are_never_those_of_another_file(file: Path, tmp_path: Path, at: int) -> None:
    """A file of the same size with another first or last byte has no notes."""
    noted(file, FIRST)
    changed = bytearray(file.read_bytes())
    changed[at] ^= 1
    other = tmp_path / "other.shard"
    other.write_bytes(changed)
    with shardcore.open(other, partial=True) as shard:
        assert open_notes(shard).notes == ()
    assert texts(file) == ["the size"]


def test_nothing_is_read_where_there_are_no_notes(file: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading would cost a request for a remote file."""
    noted(data / "swh" / "medium.shard", FIRST)

    def never(shard: Shard) -> None:
        raise AssertionError(shard)

    monkeypatch.setattr(module, "content_identity", never)
    assert texts(file) == []


def test_the_same_bytes_have_one_note(file: Path) -> None:
    noted(file, FIRST, Note(FIRST.span, "better"))
    assert texts(file) == ["better"]
    with shardcore.open(file) as shard:
        book = open_notes(shard)
        book = remove_notes(shard, book, book.notes)
        assert book.notes == ()
        assert not book.path.exists()


def test_two_windows_lose_no_note(file: Path) -> None:
    """A change is applied to the stored notes, not to those that were read before."""
    with shardcore.open(file) as shard:
        one, other = open_notes(shard), open_notes(shard)
        add_note(shard, one, FIRST)
        both = add_note(shard, other, SECOND)
    assert [note.text for note in both.notes] == ["zeros", "the size"]


def test_notes_beside_the_file_win(file: Path, folder: Path) -> None:
    noted(file, FIRST)
    beside = file.with_name("small.shard.notes.json")
    with shardcore.open(file) as shard:
        book = keep_beside(shard, open_notes(shard), beside=True)
        assert book.path == beside
        assert list(folder.iterdir()) == []
        assert open_notes(shard) == book
        add_note(shard, book, SECOND)
    assert len(json.loads(beside.read_text())["notes"]) == 2
    assert texts(file) == ["zeros", "the size"]
    with shardcore.open(file) as shard:
        keep_beside(shard, open_notes(shard), beside=False)
    assert not beside.exists()
    assert texts(file) == ["zeros", "the size"]


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "[" * 5000, '{"notes_version": 2, "notes": []}', '{"notes_version": 1}'),
        *('{"notes_version": 1, "notes": {}}', '{"notes_version": 1, "notes": [1]}'),
        '{"notes_version": 1, "notes": [{"start": 5}]}',
        '{"notes_version": 1, "notes": [{"start": 5, "stop": 2}]}',
        '{"notes_version": 1, "notes": [{"start": -1, "stop": 2}]}',
        '{"notes_version": 1, "notes": [{"start": true, "stop": 2}]}',
        '{"notes_version": 1, "notes": [{"start": 0.5, "stop": 2}]}',
        '{"notes_version": 1, "notes": [{"start": 1, "stop": 36893488147419103232}]}',
        '{"notes_version": 1, "notes": [{"start": 1, "stop": 2, "text": 5}]}',
        '{"notes_version": 1, "notes": [{"start": 1, "stop": 2, "source": []}]}',
        '{"notes_version": 1, "notes": [{"start": 1, "stop": 2, "text": "' + "a" * (MOST_LETTERS + 1) + '"}]}',
        '{"notes_version": 1, "notes": [' + ",".join(['{"start": 1, "stop": 2}'] * 10_001) + "]}",
    ],
)
def test_a_damaged_notes_file_is_an_error_and_stays(file: Path, text: str) -> None:
    with shardcore.open(file) as shard:
        book = add_note(shard, open_notes(shard), FIRST)
        book.path.write_text(text)
        with pytest.raises(FormatError, match=r"notes file .*json"):
            open_notes(shard)
        with pytest.raises(FormatError):
            add_note(shard, book, SECOND)
        assert book.path.read_text() == text


def test_limits(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shardcore.open(file) as shard:
        with pytest.raises(UsageError, match="10,000 characters"):
            add_note(shard, open_notes(shard), Note(FIRST.span, "a" * (MOST_LETTERS + 1)))
        monkeypatch.setattr(module, "MOST_NOTES", 1)
        book = add_note(shard, open_notes(shard), FIRST)
        with pytest.raises(LimitExceeded, match="at most 1 note"):
            add_note(shard, book, SECOND)


def test_a_data_folder_that_is_a_file_is_named(file: Path, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with shardcore.open(file) as shard, pytest.raises(SourceError, match=r"cannot (list|create)"):
        add_note(shard, open_notes(shard), FIRST)


def test_a_link_in_place_of_the_notes_is_not_followed(file: Path, tmp_path: Path) -> None:
    (tmp_path / "target").write_text('{"notes_version": 1, "notes": []}')
    file.with_name("small.shard.notes.json").symlink_to(tmp_path / "target")
    with shardcore.open(file) as shard, pytest.raises(SourceError, match="link"):
        open_notes(shard)


@pytest.mark.parametrize(
    ("name", "inner"),
    [("neuroglancer/identity_raw", ""), ("bloscpack/bcolz/samples", ""), ("neuroglancer/volume", "4_4_40")],
)
def test_a_data_set_has_notes_on_its_files(tmp_path: Path, data: Path, name: str, inner: str) -> None:
    path = tmp_path / "set"
    copytree(data / name, path)
    with shardcore.open(path / inner) as shard:
        first = shard.members[0].name
        add_note(shard, open_notes(shard), Note(Span(first, 0, 8), "begin"))
    moved = path.rename(tmp_path / "moved") / inner
    assert texts(moved) == ["begin"]
    with (moved / first).open("ab") as file:
        file.write(b"1")
    with shardcore.open(moved) as shard:
        assert open_notes(shard).notes == ()


def test_markdown_lists_the_notes_by_offset(file: Path) -> None:
    noted(file, Note(FIRST.span, "the size\nof the index"), Note(Span("", 0, 8)))
    with shardcore.open(file) as shard:
        text = notes_markdown(shard, open_notes(shard))
    assert text == (
        "# Notes on small.shard\n\n"
        "- 0x0–0x7 · 8 bytes (header › magic)\n"
        "- 0x48–0x4f · 8 bytes (header › index_size): the size\n  of the index\n"
    )


def test_bytes_that_cannot_be_explained_have_no_field(file: Path) -> None:
    with shardcore.open(file) as shard:
        assert note_place(shard, Span("no such source", 1 << 40, 1 << 41)) == ""
        assert note_place(shard, FIRST.span) == "header › index_size"
