"""The bundled samples are reproducible and small, and lookups of their listed keys end as described."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore import Severity, ShardError
from shardcore.teaching import resource_paths
from shardcore.teaching.resource_paths import KeyRole, Role, Sample
from tests.samples.__main__ import RESOURCES, write_all

MOST = 400_000
"""Maximum bytes of all samples together."""

OUTCOMES = {KeyRole.TYPICAL: "found", KeyRole.CROWDED: "found", KeyRole.ABSENT: "absent"}
LOST = {
    "swh/damaged.shard": {KeyRole.CROWDED: "damaged"},
    "mdb/damaged": {KeyRole.CROWDED: "damaged"},
    "xorb/damaged": {KeyRole.CROWDED: "damaged"},
    "des/damaged": dict.fromkeys(KeyRole, "damaged"),
}
"""Outcomes of lookups that damage changes, by the beginning of the sample's path."""


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_samples_are_what_the_script_makes(tmp_path: Path) -> None:
    """The script writes the same files with the same bytes; their total size is limited."""
    write_all(tmp_path)
    made, kept = _files(tmp_path), _files(RESOURCES / "samples")
    assert sorted(made) == sorted(kept)
    assert [name for name in made if made[name] != kept[name]] == []
    assert sum(map(len, kept.values())) < MOST


def test_every_format_has_a_main_a_damaged_and_an_odd_sample() -> None:
    """Each format has one sample of each role; each sample has a description and three keys with descriptions."""
    roles: dict[str, list[Role]] = {}
    for sample in resource_paths.samples():
        roles.setdefault(sample.format, []).append(sample.role)
        assert [one.role for one in sample.keys] == list(KeyRole)
        for sentence in (sample.see, *(one.about for one in sample.keys)):
            assert sentence.endswith(".")
    for format, found in roles.items():
        assert [found.count(role) for role in (Role.MAIN, Role.DAMAGED, Role.ODD)] == [1, 1, 1], format


def _name(sample: Sample) -> str:
    return str(sample.path.relative_to(RESOURCES / "samples"))[:30]


@pytest.mark.parametrize("sample", resource_paths.samples(), ids=_name)
def test_keys_do_what_is_said_of_them(sample: Sample) -> None:
    """Typical and crowded keys are found, absent ones are not, except for damage; `verify` reports damaged samples."""
    lost = next((found for start, found in LOST.items() if _name(sample).startswith(start)), {})
    with shardcore.open(sample.path, partial=True) as shard:
        for one in sample.keys:
            assert shard.trace(one.key).outcome == (OUTCOMES | lost)[one.role], one
        worst = [finding.severity for finding in shard.verify("content").findings]
    if sample.role is Role.DAMAGED:
        assert {Severity.ERROR, Severity.WARNING} & set(worst)
    elif sample.role is not Role.ODD:
        assert Severity.ERROR not in worst


def test_damage_is_served_or_missed() -> None:
    """Damaged samples behave as the missions describe: wrong bytes, unchanged bytes, an error, or an empty object."""
    folder = RESOURCES / "samples"
    with shardcore.open(folder / "neuroglancer" / "damaged") as shard:
        assert [shard.read(shard.find(key))[:2] for key in ("20", "24")] == [b"It", b"it"]
    blp = folder / "bloscpack"
    with shardcore.open(blp / "damaged.blp") as shard, shardcore.open(blp / "array.blp") as sound:
        assert shard.read(shard.find("all")) == sound.read(sound.find("all"))
    with shardcore.open(folder / "xorb" / "damaged.xorb") as shard, pytest.raises(ShardError, match="hash of chunk 4"):
        shard.read(shard.find("4"))
    with shardcore.open(folder / "swh" / "damaged.shard") as shard:
        row = next(
            row
            for row in range(13)
            if shard.objects.keys[row] == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        )
        assert shard.read(shard.objects.ref(row)) == b""
