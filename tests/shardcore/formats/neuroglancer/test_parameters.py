"""What a shard is read with, as text that opens it again, and what a guess of it rests on."""

from __future__ import annotations

import json
from pathlib import Path

import shardcore


def test_parameters_open_the_shard_again(data: Path) -> None:
    path = data / "neuroglancer" / "bare_shard" / "0.shard"
    with shardcore.open(path) as guessed:
        assert json.loads(guessed.parameters)["minishard_bits"] == 4
        assert len(guessed.evidence) == 4
        keys = guessed.objects.key_texts(guessed.objects[0:5].row)
        with shardcore.open(path, spec=guessed.parameters) as given:
            assert given.evidence == given.ambiguity == ()
            assert given.parameters == guessed.parameters
            assert given.objects.key_texts(given.objects[0:5].row) == keys


def test_a_stated_specification_has_no_evidence(data: Path) -> None:
    folder = data / "neuroglancer" / "skeletons_murmur_gzip"
    for where in (folder, folder / "0.shard"):
        with shardcore.open(where) as shard:
            assert json.loads(shard.parameters)["hash"] == "murmurhash3_x86_128"
            assert shard.evidence == shard.ambiguity == ()
