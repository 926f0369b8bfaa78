"""Journals as untrusted input: a planted `FILE.undo` changes nothing, blocks nothing and is not recommended."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shardcore.cli.program import run
from shardcore.errors import FormatError, ShardError, UsageError
from shardcore.sources.local import FileSource
from shardcore.writing import undo as journals
from shardcore.writing.in_place import Audit, FileChange, Stream, edit_of
from shardcore.writing.journal import BEGUN, UNDOING, journal_of, mark_journal
from shardcore.writing.temporary import TemporaryFile

DATA = Path(__file__).parents[2] / "data"
SMALL = DATA / "swh" / "small.shard"
KEY = "9d0c38e7aafe062c3a6dfc561e42771ec997d9359bb3d417ac4775a303292964"
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
OLD = bytes(range(256)) * 64

OTHER = "94d9c5e753e28ad33301c9ddfec0f337b0e9fd64bd9d5126e3a30dc78b10bd92"
Capture = pytest.CaptureFixture[str]
Head = dict[str, object]
Plant = Callable[[Head, list[bytes]], object]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(OLD)
    return tmp_path / "file"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return Path(shutil.copy(SMALL, tmp_path))


def edited(path: Path) -> Path:
    """Edit a file: bytes in its middle change, and its end is cut off; return the journal."""
    with FileSource(path) as source:
        journal = journals.apply(edit_of(source, "change", (FileChange(5000, b"hello"),), len(OLD) - 100))
    return journal


def record(kind: int, start: int, size: int, data: bytes = b"") -> bytes:
    return struct.pack("<BQQ", kind, start, size) + data


def planted(journal: Path, plant: Plant) -> None:
    """Replace a journal by another one with a sound digest, its head and records changed."""
    data = journal.read_bytes()
    (size,) = struct.unpack_from("<I", data, 9)
    head = json.loads(data[13 : 13 + size])
    records = [data[13 + size : -32 - 17]]
    plant(head, records)
    text = json.dumps(head).encode()
    body = struct.pack("<I", len(text)) + text + b"".join(records) + record(0, 0, 0)
    journal.write_bytes(b"SHRDUNDO\0" + body + hashlib.sha256(body).digest())


PLANTS: dict[str, Plant] = {
    "grown": lambda head, records: (
        head.update(old_size=8 << 40),
        records.clear(),
        records.extend((record(3, 5000, 5, b"hello"), record(1, 5000, 5, bytes(5)))),
        records.append(record(2, len(OLD) - 100, (8 << 40) - len(OLD) + 100)),
    ),
    "elsewhere": lambda head, records: records.append(record(1, 0, 4, b"evil")),
    "twice": lambda head, records: records.append(record(1, len(OLD) - 100, 100, bytes(100))),
    "beyond": lambda head, records: records.append(record(1, len(OLD) + 5, 4, b"evil")),
    "inode": lambda head, records: head.update(inode=1),
    "device": lambda head, records: head.update(device=1),
    "sizes": lambda head, records: head.update(old_size=1 << 70, new_size=-5),
    "version": lambda head, records: head.update(version=99),
    "sample": lambda head, records: head.update(sample="00" * 32),
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_a_planted_journal_changes_nothing_and_is_not_recommended(
    path: Path, plant: Plant, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its digest is valid, but it names another file or places that no edit changed."""
    journal = edited(path)
    planted(journal, plant)
    before = path.read_bytes()
    assert "shardcore undo" not in journals.interrupted(path)
    with pytest.raises((UsageError, FormatError)):
        journals.undo(path)
    with FileSource(path) as source, pytest.raises(ShardError):
        journals.apply(edit_of(source, "edit", (FileChange(0, b"x"),)))
    assert run(["undo", str(path), "--yes"]) in (2, 3)
    assert path.read_bytes() == before
    capsys.readouterr()


def test_a_copied_pair_is_undone_only_when_it_is_trusted(small: Path, tmp_path: Path, capsys: Capture) -> None:
    """File and journal restored from a backup have another inode."""
    before = small.read_bytes()
    assert run(["delete", str(small), KEY, "--yes"]) == 0
    (tmp_path / "copy").mkdir()
    for one in (small, journal_of(small)):
        shutil.copy(one, tmp_path / "copy")
    copy = tmp_path / "copy" / small.name
    assert run(["undo", str(copy), "--yes"]) == 2
    assert "device or inode differ; --trust uses it" in capsys.readouterr().err
    assert run(["undo", str(copy), "--yes", "--trust"]) == 0
    assert copy.read_bytes() == before


@pytest.mark.parametrize("what", ["fifo", "link", "folder", "other"])
def test_what_is_no_journal_blocks_no_command(small: Path, tmp_path: Path, what: str, capsys: Capture) -> None:
    """Edits refuse it by name and leave it alone."""
    journal = journal_of(small)
    target = tmp_path / "mine"
    target.write_bytes(b"mine")
    {
        "fifo": lambda: os.mkfifo(journal),
        "link": lambda: journal.symlink_to(target),
        "folder": journal.mkdir,
        "other": lambda: journal.write_bytes(b"mine"),
    }[what]()
    before = small.read_bytes()
    for command, codes in (
        (["info", str(small)], {0}),
        (["verify", str(small)], {0}),
        (["undo", str(small), "--yes"], {2, 3, 4}),
        (["undo", str(small), "--purge", "--yes"], {2}),
        (["delete", str(small), KEY, "--yes"], {2}),
        (["delete", str(small), KEY, "--yes", "--no-undo"], {2}),
    ):
        assert run(command) in codes, command
    capsys.readouterr()
    assert small.read_bytes() == before
    assert os.path.lexists(journal)
    assert target.read_bytes() == b"mine"


def test_edits_through_a_link_have_the_journal_of_the_file(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "links").mkdir()
    path = Path(shutil.copy(SMALL, tmp_path / "real"))
    link = tmp_path / "links" / "link.shard"
    link.symlink_to(path)
    before = path.read_bytes()
    assert run(["delete", str(link), KEY, "--yes", "--audit"]) == 0
    names = ["small.shard", "small.shard.audit.jsonl", "small.shard.undo"]
    assert sorted(one.name for one in path.parent.iterdir()) == names
    assert [one.name for one in link.parent.iterdir()] == ["link.shard"]
    with journal_of(path).open("r+b") as file:
        file.seek(8)
        file.write(b"\0")
    for name in (link, path):
        assert run(["info", str(name)]) == 0
        assert "was interrupted" in capsys.readouterr().err
    assert run(["undo", str(link), "--yes"]) == 0
    assert path.read_bytes() == before
    assert link.is_symlink()


def test_a_file_with_several_names_is_edited_only_when_asked(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An interrupted edit would not be reported under the other name."""
    os.link(small, tmp_path / "other")
    before = small.read_bytes()
    assert run(["delete", str(small), KEY, "--yes"]) == 2
    assert "has 2 names (hard links)" in capsys.readouterr().err
    assert sorted(one.name for one in tmp_path.iterdir()) == ["other", "small.shard"]
    assert run(["delete", str(small), KEY, "--yes", "--hard-links"]) == 0
    assert run(["undo", str(small), "--yes"]) == 0
    assert small.read_bytes() == before


class FailingSync:
    """Lets `fsync` fail, of files or of folders, from a call on; also stands for the function.

    Args:
        folders: Whether of folders.
        first: The first call that fails, from 0.
    """

    def __init__(self, patch: pytest.MonkeyPatch, *, folders: bool, first: int) -> None:
        self._folders, self._left, self._real = folders, first, os.fsync
        patch.setattr(os, "fsync", self)

    def __call__(self, descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode) == self._folders:
            self._left -= 1
            if self._left < 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
        self._real(descriptor)


def test_an_edit_whose_journal_cannot_be_completed_is_made_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last sync of the journal fails."""
    path = Path(shutil.copy(DATA / "bloscpack" / "append_grow.blp", tmp_path))
    more = tmp_path / "more"
    more.write_bytes(b"12345678" * 100)
    with pytest.MonkeyPatch.context() as patch:
        FailingSync(patch, folders=False, first=2)
        assert run(["append", str(path), str(more), "--yes"]) == 4
    assert "was edited" in capsys.readouterr().err
    edited = path.read_bytes()
    assert run(["append", str(path), str(more), "--yes"]) == 2
    assert path.read_bytes() == edited
    assert run(["undo", str(path), "--yes"]) == 0
    assert path.read_bytes() == (DATA / "bloscpack" / "append_grow.blp").read_bytes()


def test_a_folder_that_cannot_be_synced_is_an_error(small: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.shard"
    with pytest.MonkeyPatch.context() as patch:
        FailingSync(patch, folders=True, first=0)
        assert run(["delete", str(small), KEY, "--yes"]) == 4
        assert [one.name for one in tmp_path.iterdir()] == ["small.shard"]
        for force in ((), ("--force",)):
            assert run(["pack", "swh", str(new), str(small), *force]) == 4
            assert new.stat().st_size > small.stat().st_size
    assert small.read_bytes() == SMALL.read_bytes()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_journals_have_the_mode_of_the_file(
    path: Path, tmp_path: Path, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.chmod(mode)
    seen: list[int] = []
    write = TemporaryFile.write

    def noting(self: TemporaryFile, data: bytes) -> None:
        seen.append(stat.S_IMODE(self.path.stat().st_mode))
        write(self, data)

    monkeypatch.setattr(TemporaryFile, "write", noting)
    with FileSource(path) as source:
        journals.apply(edit_of(source, "edit", (FileChange(0, b"x"),)), audit=Audit())
    assert set(seen) == {mode}
    for one in tmp_path.iterdir():
        assert stat.S_IMODE(one.stat().st_mode) == mode, one


@pytest.mark.skipif(not ROOT, reason="only the superuser may give files away")
def test_a_journal_of_another_user_is_not_used(path: Path) -> None:
    """Valid owners are that of the file, the superuser and you."""
    os.chown(path, 1234, 1234)
    with FileSource(path) as source:
        journal = journals.apply(edit_of(source, "edit", (FileChange(0, b"x"),)))
    assert (journal.stat().st_uid, journal.stat().st_gid) == (1234, 1234)
    os.chown(journal, 4321, 4321)
    with pytest.raises(UsageError, match="belongs to another user"):
        journals.undo(path)
    os.chown(journal, 0, 0)
    journals.undo(path)
    assert path.read_bytes() == OLD


def test_a_full_disk_leaves_the_file_as_it_was(path: Path) -> None:
    code = """
import resource, signal, sys
from pathlib import Path
from shardcore.errors import SourceError
from shardcore.sources.local import FileSource
from shardcore.writing.in_place import FileChange, Stream, edit_of
from shardcore.writing.undo import apply
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
path = Path(sys.argv[1])
more = Stream(4 << 20, lambda: iter([b"m" * (1 << 20)] * 4))
for journal in (True, False):
    with FileSource(path) as source:
        edit = edit_of(source, "append", (FileChange(source.size, more),), source.size + (4 << 20))
        try:
            apply(edit, journal=journal)
        except SourceError as error:
            print(error)
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert done.stdout.count("File too large") == 2, (done.stdout, done.stderr)
    assert path.read_bytes() == OLD
    assert list(path.parent.iterdir()) == [path]


def test_purge_removes_all_journals(path: Path, tmp_path: Path, capsys: Capture) -> None:
    path.write_bytes(OLD + b"secret")
    for number in range(3):
        with FileSource(path) as source:
            journals.apply(edit_of(source, "edit", (FileChange(len(OLD) - number, b"x" * 6),)))
    journal_of(path).with_name("file.undo.1").rename(tmp_path / "file.undo.7")
    after = path.read_bytes()
    assert run(["undo", str(path), "--purge", "--dry-run"]) == 0
    assert capsys.readouterr().out.count("\n") == 3
    assert run(["undo", str(path), "--purge"]) == 2
    assert len(list(tmp_path.iterdir())) == 4
    assert run(["undo", str(path), "--purge", "--yes", "--json"]) == 0
    assert capsys.readouterr().out.count('"removed": true') == 3
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("file", after)]
    assert run(["undo", str(path), "--purge", "--yes"]) == 2
    assert "no undo files" in capsys.readouterr().err


def test_an_interrupted_edit_keeps_its_journal(path: Path) -> None:
    journal = edited(path)
    mark_journal(journal, BEGUN)
    with pytest.raises(UsageError, match="the journal cannot be removed: an edit"):
        journals.purge(path)
    journals.undo(path)
    assert path.read_bytes() == OLD


def test_an_edit_without_copies_leaves_a_mark_while_it_lasts(small: Path) -> None:
    """Interrupted without the old bytes, it is finished by the same command."""
    code = """
import os, signal, sys
from shardcore.writing import undo
from shardcore.cli.program import run
def killed(edit, progress):
    os.kill(os.getpid(), signal.SIGKILL)
undo.make_changes = killed
run(["delete", sys.argv[1], sys.argv[2], "--no-undo", "--yes"])
"""
    done = subprocess.run([sys.executable, "-c", code, str(small), KEY], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    told = journals.interrupted(small)
    assert "cannot be undone" in told
    assert "run the same delete again" in told
    mark = journal_of(small).read_bytes()
    with pytest.raises(UsageError, match="were not kept"):
        journals.undo(small)
    assert run(["delete", str(small), OTHER, "--yes"]) == 2
    assert run(["verify", str(small)]) == 1
    assert journal_of(small).read_bytes() == mark
    assert run(["delete", str(small), KEY, OTHER, "--no-undo", "--yes"]) == 0
    assert not journal_of(small).exists()
    assert run(["get", str(small), KEY]) == 1
    assert run(["get", str(small), OTHER]) == 1
    assert run(["verify", str(small)]) == 0


def test_undoing_that_was_interrupted_is_not_finished_by_an_edit(path: Path) -> None:
    journal = edited(path)
    mark_journal(journal, UNDOING)
    assert "undoing an edit" in journals.interrupted(path)
    with pytest.raises(UsageError, match="undoing an edit"):
        journals.unfinished_edit(path, "", ())
    journals.undo(path)
    assert path.read_bytes() == OLD


def test_what_an_edit_streams_cannot_be_finished(path: Path) -> None:
    with FileSource(path) as source:
        more = Stream(5, lambda: iter([b"hello"]))
        journal = journals.apply(edit_of(source, "more", (FileChange(len(OLD), more),), len(OLD) + 5, verb="append"))
    mark_journal(journal, BEGUN)
    assert "again" not in journals.interrupted(path)
    with pytest.raises(UsageError, match="shardcore undo"):
        journals.unfinished_edit(path, "append", ())
    with pytest.raises(UsageError):
        journals.finish(path)
    journals.undo(path)
    assert path.read_bytes() == OLD


def test_the_audit_log_has_a_line_for_each_deletion(small: Path, tmp_path: Path, capsys: Capture) -> None:
    told = ["--audit", "--reason", "GDPR", "--who", "me", "--ticket", "T-1"]
    assert run(["delete", str(small), KEY, "--yes", *told]) == 0
    log = tmp_path / "small.shard.audit.jsonl"
    (line,) = map(json.loads, log.read_text().splitlines())
    told = [line[name] for name in ("verb", "file", "keys", "reason", "who", "ticket")]
    assert told == ["delete", "small.shard", [KEY], "GDPR", "me", "T-1"]
    assert line["size_before"] == line["size_after"] == small.stat().st_size
    assert line["time"].endswith("Z")
    log.write_bytes(log.read_bytes()[:-5])
    assert run(["delete", str(small), OTHER, "--yes", "--audit"]) == 0
    assert json.loads(log.read_text().splitlines()[-1])["keys"] == [OTHER]
    before = small.read_bytes()
    third = "f2bebd1b3a6d0faa686b1aa0045ab5ae36509d0cb643ae68b57c4e176c6a7def"
    log.rename(tmp_path / "moved")
    log.symlink_to(tmp_path / "moved")
    assert run(["delete", str(small), third, "--yes", "--audit"]) == 4
    log.unlink()
    os.mkfifo(log)
    assert run(["delete", str(small), third, "--yes", "--audit"]) == 4
    assert small.read_bytes() == before
    capsys.readouterr()
    assert run(["delete", str(small), third, "--yes", "--reason", "x"]) == 0
    assert "pass --audit" in capsys.readouterr().err


def test_tombstones_are_audited_beside_their_shard(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(DATA / "des" / "sidecar", tmp_path / "a"))
    (path,) = folder.glob("*.des")
    (meta,) = folder.glob("*.meta")
    meta.chmod(0o600)
    assert run(["tombstone", str(folder), "keep", "--yes", "--audit", "--by", "me", "--reason", "GDPR"]) == 0
    assert stat.S_IMODE(meta.stat().st_mode) == 0o600
    assert run(["tombstone", str(path), "keep", "--yes", "--audit", "--undo"]) == 0
    lines = [json.loads(line) for line in Path(f"{path}.audit.jsonl").read_text().splitlines()]
    found = [(one["verb"], one["keys"], one["sidecar"]) for one in lines]
    assert found == [(verb, ["keep"], meta.name) for verb in ("tombstone", "remove tombstone")]
    assert (lines[0]["who"], lines[0]["reason"]) == ("me", "GDPR")


def test_rekey_never_replaces_its_source(tmp_path: Path, capsys: Capture) -> None:
    (sample,) = list((DATA / "mdb" / "cas" / "shard-cache").glob("*.mdb"))[:1]
    path = Path(shutil.copy(sample, tmp_path))
    before = path.read_bytes()
    (tmp_path / "link").symlink_to(path)
    os.link(path, tmp_path / "name")
    for target in (path, tmp_path / "link", tmp_path / "name", tmp_path / "." / path.name):
        assert run(["rekey", str(path), str(target), "--force", "-O", f"key={'ab' * 32}"]) == 2
        assert "is the shard itself" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert (tmp_path / "link").is_symlink()
