"""A folder of Read Shards as one data set."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import shardcore
from shardcore.errors import FormatError, KeyAbsent, NotAShard
from shardcore.formats.swh import shard as swh_folder
from shardcore.model.finding import Severity
from shardcore.shards.dataset import DataSet
from shardcore.sources.local import FileSource, LocalFolder
from shardcore.testing.checks import live_keys

DATA = Path(__file__).parents[3] / "data" / "swh"
NAMES = ("deleted", "legacy", "medium", "one")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        shutil.copy(DATA / f"{name}.shard", tmp_path / (name if name == "one" else f"{name}.shard"))
    (tmp_path / "README").write_text("Not a shard, and longer than a header would be. " * 4)
    return tmp_path


def opened(folder: Path) -> DataSet:
    shard = shardcore.open(folder)
    assert isinstance(shard, DataSet)
    return shard


def test_a_folder_is_known_by_the_magic_of_its_files(folder: Path) -> None:
    assert shardcore.detect(folder).format == "swh"
    with opened(folder) as shard:
        assert shard.why == "magic SWHShard in 3 of the first 4 files"
        assert [member.name for member in shard.members] == ["deleted.shard", "legacy.shard", "medium.shard", "one"]
        assert shard.fields == {"dataset.members": 4}
        assert shard.declared_objects is None
        assert shard.listing is None
        shard.load_index()
        assert shard.declared_objects == len(shard.objects) == 13 + 13 + 2027 + 11


def test_recognising_looks_at_a_handful_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(200):
        (tmp_path / f"{number:03}.shard").write_bytes((DATA / "one.shard").read_bytes())
    asked: list[str] = []
    real = LocalFolder.open

    def counting(self: LocalFolder, name: str) -> FileSource:
        asked.append(name)
        return real(self, name)

    monkeypatch.setattr(LocalFolder, "open", counting)
    assert swh_folder.detect_folder(LocalFolder(tmp_path)) is not None
    assert len(asked) <= 5
    asked.clear()
    with opened(tmp_path) as shard:
        assert len(shard.members) == 200
        assert len([name for name in asked if name.endswith(".shard")]) <= 5 + swh_folder.MOST_ASKED


def test_a_key_is_sought_in_every_shard_and_the_trace_says_why(folder: Path) -> None:
    with shardcore.open(DATA / "one.shard") as one:
        key = live_keys(one)[0]
        content = one.read(one.find(key))
    with opened(folder) as shard:
        ref = shard.find(key)
        assert (ref.shard, shard.read(ref)) == ("one", content)
        trace = shard.trace(key)
        assert (trace.outcome, trace.ref) == ("found", ref)
        asked = list(dict.fromkeys(span.source for step in trace.steps for span in step.spans))
        assert asked == ["deleted.shard", "legacy.shard", "medium.shard", "one"]
        with pytest.raises(KeyAbsent):
            shard.find("00" * 32)
        assert shard.find_all("00" * 32) == ()
        assert shard.trace("00" * 32).outcome == "absent"
        with pytest.raises(shardcore.UsageError, match="64 hex digits"):
            shard.find("zz")


def test_a_key_in_several_shards(folder: Path) -> None:
    with opened(folder) as shard, shardcore.open(DATA / "deleted.shard") as deleted:
        for key in live_keys(deleted):
            assert shard.find(key).shard == "deleted.shard"
            assert [ref.shard for ref in shard.find_all(key)][:2] == ["deleted.shard", "legacy.shard"]


def test_a_damaged_shard_hides_only_what_is_in_it(folder: Path) -> None:
    with shardcore.open(DATA / "one.shard") as one:
        key = live_keys(one)[0]
    whole = (folder / "medium.shard").read_bytes()
    (folder / "medium.shard").write_bytes(whole[:-40])
    with opened(folder) as shard:
        assert shard.find(key).shard == "one"
        assert shard.find_many([key])[0] == shard.find(key).row
        with pytest.raises(FormatError) as caught:
            shard.find_many([key, "00" * 32])
        assert caught.value.span is not None
        assert caught.value.span.source == "medium.shard"
        assert list(shard.unreadable) == ["medium.shard"]
        assert [f.code for f in shard.verify().findings if f.severity is Severity.ERROR] == ["swh.unreadable"]


def test_an_info_keeps_a_folder_with_neuroglancer(tmp_path: Path) -> None:
    source = DATA.parent / "neuroglancer" / "volume"
    shutil.copytree(source, tmp_path / "volume")
    for scale in (tmp_path / "volume").iterdir():
        shutil.copy(DATA / "one.shard", (scale if scale.is_dir() else scale.parent) / "one.shard")
    assert shardcore.detect(tmp_path / "volume").format == "neuroglancer"
    assert shardcore.detect(tmp_path / "volume" / "4_4_40").format == "neuroglancer"


def test_neuroglancer_shards_without_info_are_no_data_set(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.shard").write_bytes(bytes(200))
    with pytest.raises(NotAShard):
        shardcore.open(tmp_path)
    with pytest.raises(NotAShard, match="no file in this folder begins with SWHShard"):
        shardcore.open(tmp_path, format="swh")
