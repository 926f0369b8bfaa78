"""Packs of lessons: installed below the data folder when everything in them is in order, listed, removed."""

from __future__ import annotations

import stat
import struct
import zipfile
from pathlib import Path

import pytest

from shardcore.errors import ShardError, SourceError, UsageError
from shardcore.teaching import assets
from shardcore.teaching.lessons import packs as module
from shardcore.teaching.lessons.lesson import LessonError, parse
from shardcore.teaching.lessons.library import in_order, lessons, missions, notes_of, read_lesson
from shardcore.teaching.lessons.packs import beside, install, packs, packs_folder, remove

SECOND = "# Second\nformat: swh\nsample: own.shard\nneeds: z-first, swh-1-meet-the-file\n\n## Go\n\n[one](z-first.md)\n"
FIRST = "# First\n\n## Begin\n\nA picture: ![it](pictures/it.svg)\n"


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test."""
    monkeypatch.setattr(module, "user_data_folder", lambda: tmp_path / "data" / "notes")
    return tmp_path / "data"


def course(folder: Path) -> Path:
    """A folder with two lessons, a sample, a picture, notes and a description."""
    sample = (assets.resources() / "samples" / "swh" / "small.shard").read_bytes()
    files = {"README.md": b"# My course\n\nText.\n", "a-second.md": SECOND.encode(), "z-first.md": FIRST.encode()}
    files |= {"own.shard": sample, "pictures/it.svg": b"<svg/>", "z-first.notes.md": b"Ask *why*.\n"}
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    """A zip of some files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def test_installed_listed_and_removed(tmp_path: Path, data_folder: Path) -> None:
    """A folder, or a zip with one folder in it, becomes a pack with title, origin and lessons in their order."""
    origin = course(tmp_path / "my-course")
    archive = tmp_path / "other.zip"
    inside = [one for one in origin.rglob("*") if one.is_file()]
    zipped(archive, {f"top/{one.relative_to(origin).as_posix()}": one.read_bytes() for one in inside})
    before = sorted((assets.resources() / "lessons").iterdir())
    for path, name in ((origin, "my-course"), (archive, "other")):
        pack = install(path)
        assert (pack.name, pack.title, pack.origin) == (name, "My course", str(path))
        assert [one.name for one in pack.lessons] == [f"{name}.z-first", f"{name}.a-second"]
        first, second = pack.lessons
        assert second.needs == (f"{name}.z-first", "swh-1-meet-the-file")
        assert Path(second.sample) == packs_folder() / name / "own.shard"
        assert notes_of(first) == "Ask *why*.\n"
        assert beside(second, "z-first.md") == first.path
        assert beside(first, "pictures/it.svg") is not None
        for link in ("../x", "/etc/passwd", "gone.md", "", "pictures", "https://a/b.md"):
            assert beside(first, link) is None
        with pytest.raises(UsageError, match="is installed"):
            install(path)
        assert install(path, replaced=True) == pack
    assert [pack.name for pack in packs()] == ["my-course", "other"]
    assert sorted((assets.resources() / "lessons").iterdir()) == before
    remove("my-course")
    assert [pack.name for pack in packs()] == ["other"]
    for name in ("my-course", "..", "/etc", ""):
        with pytest.raises(UsageError, match="no pack called"):
            remove(name)
    (packs_folder() / "other" / "z-first.md").write_text("no lesson")
    (pack,) = packs()
    assert pack.lessons == ()
    assert "z-first.md is not a lesson" in pack.problem


LESSON = {"a.md": b"# A\n\n## B\n\ntext\n"}


def test_a_zip_made_on_a_mac(tmp_path: Path, data_folder: Path) -> None:
    """Additions of macOS to a zip are left out, like hidden files: the lessons are in the one folder that is left."""
    archive = zipped(
        tmp_path / "mac.zip",
        {"my/a.md": FIRST.encode(), "my/.DS_Store": b"x", "__MACOSX/my/._a.md": b"x", "__MACOSX/._my": b"x"},
    )
    assert [one.name for one in install(archive).lessons] == ["mac.a"]
    files = {one.name for one in (packs_folder() / "mac").rglob("*") if one.is_file()}
    assert files == {"a.md", ".pack.json"}


def test_what_is_refused_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that lead outside, links, encryption, twins, sizes and counts over the limit, texts that are no lessons."""
    monkeypatch.setattr(module, "MOST_FILES", 20)
    monkeypatch.setattr(module, "MOST_BYTES", 1 << 20)
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    bad: dict[str, dict[str, bytes]] = {
        "up": {"../x.md": b""} | LESSON,
        "absolute": {"/x.md": b""} | LESSON,
        "back": {"b\\x.md": b""} | LESSON,
        "drive": {"c:x.md": b""} | LESSON,
        "twins": {"A.md": b""} | LESSON,
        "large": {"x": bytes(1 << 20) + b"1"} | LESSON,
        "many": {f"x{number}": b"" for number in range(21)} | LESSON,
        "empty": {"README.md": b"# no lesson"},
        "none": {"b.md": b"no lesson"} | LESSON,
        "gone": {"b.md": b"# A\nneeds: c\n\n## B\n\ntext\n"},
        "circle": {"b.md": b"# A\nneeds: c\n\n## B\n", "c.md": b"# A\nneeds: b\n\n## B\n"},
        "sample": {"b.md": b"# A\nsample: ../../x\n\n## B\n"},
    }
    archives = [zipped(tmp_path / f"{name}.zip", files) for name, files in bad.items()]
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as archive:
        archive.writestr("a.md", LESSON["a.md"])
        archive.writestr(link, "/etc/passwd")
    encrypted = bytearray(zipped(tmp_path / "encrypted.zip", LESSON).read_bytes())
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", encrypted, encrypted.find(magic) + at, 1)
    (tmp_path / "encrypted.zip").write_bytes(encrypted)
    (tmp_path / "cut.zip").write_bytes((tmp_path / "up.zip").read_bytes()[:-30])
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "a.md").write_bytes(LESSON["a.md"])
    (linked / "b.md").symlink_to("/etc/passwd")
    through = tmp_path / "through"
    through.mkdir()
    (through / "a.md").write_bytes(LESSON["a.md"])
    (through / "folder").symlink_to("/etc")
    others = (tmp_path / f"{name}.zip" for name in ("link", "encrypted", "cut", "missing"))
    for path in (*archives, *others, linked, through, tmp_path / ".hidden", tmp_path / "a b.zip"):
        with pytest.raises(ShardError):
            install(path)
        assert packs() == (), path
        assert not packs_folder().exists() or list(packs_folder().iterdir()) == [], path
    with pytest.raises(UsageError, match="encrypted"):
        install(tmp_path / "encrypted.zip")
    with pytest.raises(UsageError, match="symbolic link"):
        install(tmp_path / "link.zip")
    with pytest.raises(UsageError, match=r"lessons need each other: circle\.b, circle\.c, circle\.b"):
        install(tmp_path / "circle.zip")
    with pytest.raises(SourceError, match="plain relative name"):
        install(tmp_path / "up.zip")


def test_what_a_lesson_needs_exists() -> None:
    """Every lesson comes after those that it needs; one that needs a lesson that is not there, or itself, is none."""
    found = lessons()
    for number, lesson in enumerate(found):
        assert set(lesson.needs) <= {one.name for one in found[:number]}, lesson.name
    one = parse("# A\nneeds: b, c\n\n## B\n", "a")
    assert one.needs == ("b", "c")
    with pytest.raises(LessonError, match="a needs b, which does not exist"):
        in_order([one])
    with pytest.raises(LessonError, match="need each other: a, a"):
        in_order([parse("# A\nneeds: a\n\n## B\n", "a")])


def test_every_lesson_has_notes() -> None:
    """Purpose, common errors, minutes and questions to ask lie beside each lesson and mission."""
    for lesson in (*lessons(), *missions()):
        text = notes_of(lesson)
        for heading in ("**Purpose.**", "**Common errors.**", "**Minutes.**", "**Ask.**"):
            assert heading in text, (lesson.name, heading)
        assert lesson.path is not None
        assert read_lesson(lesson.path).steps == lesson.steps
