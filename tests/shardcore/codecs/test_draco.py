"""Draco fragments: declared counts are checked before anything is decoded; garbage is an error, never a crash."""

from __future__ import annotations

import random
from contextlib import suppress

import DracoPy
import numpy as np
import pytest

from shardcore import FormatError, LimitExceeded, ShardError, Unsupported
from shardcore.codecs.decoder_process import IsolatedDecoder
from shardcore.codecs.draco import check_counts, draco_task
from shardcore.testing import rounds

POINTS = np.array([[0, 0, 0], [1023, 0, 0], [0, 1023, 0], [0, 0, 1023]], np.float32)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.uint32)


def encoded(*, metadata: bool = False, ordered: bool = False) -> bytes:
    quantised = {"quantization_bits": 10, "quantization_range": 1023, "quantization_origin": [0.0, 0.0, 0.0]}
    return DracoPy.encode(
        POINTS, FACES, **quantised, compression_level=7, create_metadata=metadata, preserve_order=ordered
    )


@pytest.mark.parametrize("metadata", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_fragment_is_decoded(metadata: bool, ordered: bool) -> None:
    header, data = draco_task({}, encoded(metadata=metadata, ordered=ordered))
    assert header == {"vertices": 4, "triangles": 4, "quantised": (0, 0, 0, 1023, 10)}
    points = np.frombuffer(data, "<f4", 12).reshape(-1, 3)
    faces = np.frombuffer(data, "<u4", 12, 48).reshape(-1, 3)
    assert sorted(points.tolist()) == sorted(POINTS.tolist())
    found = {frozenset(map(tuple, points[face].tolist())) for face in faces}
    assert found == {frozenset(map(tuple, POINTS[face].tolist())) for face in FACES}


@pytest.mark.parametrize("ordered", [False, True])
def test_declared_counts_are_limited(ordered: bool) -> None:
    data = encoded(ordered=ordered)
    check_counts(data, 4)
    with pytest.raises(LimitExceeded, match="4 triangles"):
        check_counts(data, 3)
    head = data[:11] + (b"" if ordered else data[11:12])
    with pytest.raises(LimitExceeded):
        check_counts(head + b"\xff\xff\xff\xff\x0f" * 2, 5_000_000)


def test_other_heads_are_refused() -> None:
    data = encoded()
    for changed, kind in (
        (b"NOT" + data, FormatError),
        (data[:5] + b"\x01" + data[6:], Unsupported),
        (data[:7] + b"\x00" + data[8:], FormatError),
        (data[:5] + b"\x0a" + data[6:], FormatError),
        (data[:6] + b"\x03" + data[7:], FormatError),
        (data[:8] + b"\x18" + data[9:], FormatError),
        (data[:12], FormatError),
        (b"", FormatError),
    ):
        with pytest.raises(kind) as caught:
            draco_task({}, changed)
        assert caught.type is kind
    with pytest.raises(FormatError, match="not a mesh"):
        draco_task({}, DracoPy.encode(POINTS))


def test_garbage_behind_a_sound_head_is_an_error_in_the_isolated_decoder() -> None:
    dice, data = random.Random(20), encoded()
    with IsolatedDecoder() as decoder:
        for _ in range(rounds(200, 25)):
            changed = bytearray(data)
            for _ in range(dice.randint(1, 6)):
                changed[dice.randrange(11, len(changed))] = dice.randrange(256)
            cut = bytes(changed[: dice.choice([len(changed), dice.randrange(len(changed))])])
            with suppress(ShardError):
                assert decoder.run("draco", {"triangles": 1000}, cut, limit=48_000)[0]["triangles"] <= 1000
        assert decoder.run("draco", {}, data)[0]["triangles"] == 4
