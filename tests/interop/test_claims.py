"""What the sandbox says of other readers is what they do: bits are flipped everywhere, and both are asked."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

import shardcore
from shardcore.model.other_readers import Peer, ReaderAnswer, peers_about
from shardcore.shards.registry import format_of
from shardcore.sources.local import FileSource
from shardcore.sources.patched import Change, PatchedSource
from shardcore.teaching.impact import Before, Fate, Impact, before, compare
from shardcore.testing import rounds
from tests.interop.readers import Answers, Reader

SAMPLES = Path(__file__).parents[2] / "resources" / "samples"
GZIP = {
    "@type": "neuroglancer_uint64_sharded_v1",
    "preshift_bits": 1,
    "hash": "identity",
    "minishard_bits": 1,
    "shard_bits": 0,
    "minishard_index_encoding": "gzip",
    "data_encoding": "gzip",
}


@dataclass(frozen=True)
class Case:
    format: str
    reader: str
    name: str
    sample: str

    def made(self, folder: Path) -> Path:
        path = folder / Path(self.sample or "0.shard").name
        if self.sample:
            shutil.copy(SAMPLES / self.sample, path)
            info = (SAMPLES / self.sample).parent / "info"
            if info.exists():
                shutil.copy(info, folder)
            return path
        (folder / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": GZIP}))
        with shardcore.create(folder, format="neuroglancer", spec=GZIP) as writer:
            for key in range(12):
                writer.add(str(key), f"value {key} ".encode() * (key + 1))
        return path


CASES = [
    pytest.param(Case("swh", "swh", "swh.shard", "swh/small.shard"), marks=pytest.mark.interop("swh.shard")),
    pytest.param(
        Case("bloscpack", "bloscpack", "bloscpack", "bloscpack/array.blp"),
        marks=pytest.mark.interop("blosc", "bloscpack"),
    ),
    *(
        pytest.param(Case("neuroglancer", reader, name, sample), marks=pytest.mark.interop(reader))
        for reader, name in (("tensorstore", "tensorstore"), ("cloudvolume", "cloud-volume"))
        for sample in ("neuroglancer/worked/0.shard", "neuroglancer/hashed/0.shard", "")
    ),
]


def flips(path: Path, dice: random.Random, each: int) -> list[Change]:
    data, found = path.read_bytes(), []
    with shardcore.open(str(path)) as shard:
        for section in shard.sections:
            for _ in range(min(each, section.stop - section.start)):
                at = dice.randrange(section.start, section.stop)
                bit = dice.choice((0, 3, 5, 6, 7))
                found.append(Change.flip(at, bit, data[at]))
    return found


def impact_of(was: Before, path: Path, change: Change, format: str) -> Impact:
    with shardcore.open(PatchedSource(FileSource(path), [change]), format=format, partial=True) as shard:
        return compare(was, shard)


def wrong_by(was: Answers, now: Answers) -> list[str]:
    return [key for key, (what, told) in now.items() if what == "ok" and was[key] != (what, told)]


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES)
def test_who_serves_wrong_bytes_is_named(case: Case, tmp_path: Path) -> None:
    path = case.made(tmp_path)
    original = tmp_path / "original"
    shutil.copy(path, original)
    info = json.loads((tmp_path / "info").read_text()) if case.format == "neuroglancer" else {}
    spec = info.get("sharding", info) or None
    with shardcore.open(str(path)) as shard:
        shard.load_index()
        refs = [shard.objects.ref(row) for row in range(len(shard.objects))]
        live = [ref for ref in refs if ref.key and ref.size >= 0]
        keys, sizes = [ref.key or "" for ref in live], [ref.size for ref in live]
        was = before(shard)
    dice = random.Random(f"{case.reader} {case.sample}")
    false: list[str] = []
    told: Counter[tuple[str, ReaderAnswer]] = Counter()
    with Reader(case.reader) as reader:
        good = reader.ask(path, keys, spec=spec, sizes=sizes)
        assert {what for what, _ in good.values()} == {"ok"}
        for change in flips(original, dice, rounds(20, 12)):
            data = bytearray(original.read_bytes())
            data[change.start : change.stop] = change.data or b""
            path.write_bytes(data)
            impact = impact_of(was, path, change, case.format)
            now = reader.ask(path, keys, spec=spec, sizes=sizes)
            path.write_bytes(original.read_bytes())
            claims = claims_of(case, impact)
            told.update((code, one.answer) for one in claims for code in one.codes)
            ours = {one.key for one in impact.objects if one.fate is Fate.WRONG}
            named = any(one.answer in (ReaderAnswer.WRONG, ReaderAnswer.CRASHES) for one in claims)
            for key in wrong_by(good, now):
                if key not in ours and not named:
                    false.append(f"{change.what}: {case.name} serves {key} wrong; {impact.codes}")
            crashed = any(what == "crash" for what, _ in now.values())
            if crashed and not any(one.answer is ReaderAnswer.CRASHES for one in claims):
                false.append(f"{change.what}: {case.name} crashes; {impact.codes}")
            fails = [key for key, (what, _) in now.items() if what in ("refused", "lost", "crash")]
            if fails and not claims and not impact.objects and not any(check.notices for check in impact.checks):
                false.append(f"{change.what}: {case.name} loses {fails[:3]}, and nothing is said")
    assert not false, "\n".join(false)
    assert told


def claims_of(case: Case, impact: Impact) -> list[Peer]:
    found = peers_about(format_of(case.format).peers(), impact.new, silent=bool(impact.silent))
    return [one for one in found if one.name.startswith(case.name)]
