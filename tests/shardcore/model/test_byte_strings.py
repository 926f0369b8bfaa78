"""Byte strings in one array: equal ones have equal numbers, and those that differ are found."""

from __future__ import annotations

import random

import numpy as np

from shardcore.model.byte_strings import ByteStrings, unlike


def strings(seed: int, count: int = 400) -> list[bytes]:
    chance = random.Random(seed)
    return [bytes(chance.choices(b"ab\0", k=chance.randrange(6))) for _ in range(count)]


def test_numbers_are_equal_as_strings_are() -> None:
    texts = strings(1)
    numbers = [tuple(row) for row in ByteStrings.of(texts).hashes().tolist()]
    assert len(set(numbers)) == len(set(texts))
    assert len(set(zip(numbers, texts, strict=True))) == len(set(texts))


def test_strings_of_one_length_have_the_same_numbers() -> None:
    rows = np.frombuffer(random.Random(2).randbytes(320), np.uint8).reshape(10, 32)
    alone = ByteStrings.rows(rows).hashes()
    mixed = ByteStrings.of([b"odd", *(row.tobytes() for row in rows)]).hashes()
    assert (mixed[1:] == alone).all()


def test_what_differs_is_found() -> None:
    one, other = strings(3), strings(4)
    found = unlike(ByteStrings.of(one), ByteStrings.of(other))
    assert found.tolist() == [a != b for a, b in zip(one, other, strict=True)]
    assert not unlike(ByteStrings.of(one), ByteStrings.of(one)).any()
    assert len(ByteStrings.of([]).hashes()) == 0
