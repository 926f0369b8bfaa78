"""What formats declare, and what is given."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from shardcore.errors import UsageError
from shardcore.model.options import Option, OptionPurpose, OptionType, read_options

SEED = Option("seed", OptionType.INTEGER, "A number.", OptionPurpose.WRITE)
CODEC = Option("codec", OptionType.CHOICE, "How to compress.", OptionPurpose.WRITE, choices=("none", "zstd"))
WHERE = Option("where", OptionType.TEXT, "A place.")


@pytest.mark.parametrize(
    ("type", "given", "value"),
    [
        (OptionType.INTEGER, "0x10", 16),
        (OptionType.INTEGER, 7, 7),
        (OptionType.SIZE, "64K", 65536),
        (OptionType.SIZE, "1g", 1 << 30),
        (OptionType.SIZE, "12", 12),
        (OptionType.SIZE, 5, 5),
        (OptionType.FLAG, "yes", True),
        (OptionType.FLAG, "No", False),
        (OptionType.FLAG, True, True),
        (OptionType.TEXT, "4_4_40", "4_4_40"),
        (OptionType.TEXT, 12, "12"),
        (OptionType.JSON, {"a": 1}, {"a": 1}),
        (OptionType.TEXT, None, None),
        (OptionType.TIME, 1764504000, "2025-11-30T12:00:00Z"),
        (OptionType.TIME, "1764504000", "2025-11-30T12:00:00Z"),
        (OptionType.TIME, 1764504000.5, "2025-11-30T12:00:00.500000Z"),
        (OptionType.TIME, datetime(2026, 11, 30, 12, tzinfo=UTC), "2026-11-30T12:00:00Z"),
        (OptionType.TIME, datetime(2026, 11, 30, tzinfo=UTC).date(), "2026-11-30"),
        (OptionType.TIME, "2026-11-30T12:00:00+01:00", "2026-11-30T12:00:00+01:00"),
        (OptionType.TIME, 20261130, "20261130"),
    ],
)
def test_texts_become_values(type: OptionType, given: Any, value: Any) -> None:
    assert Option("x", type, "").value_of(given) == value


@pytest.mark.parametrize(
    ("type", "given"),
    [
        (OptionType.INTEGER, "4_4"),
        (OptionType.INTEGER, "-1"),
        (OptionType.INTEGER, 1.5),
        (OptionType.INTEGER, True),
        (OptionType.SIZE, "5T"),
        (OptionType.SIZE, "K"),
        (OptionType.FLAG, "maybe"),
        (OptionType.TEXT, ["a"]),
        (OptionType.TIME, True),
        (OptionType.TIME, 1e18),
        (OptionType.TIME, float("nan")),
    ],
)
def test_what_is_no_value_is_named(type: OptionType, given: Any) -> None:
    with pytest.raises(UsageError, match="x must be "):
        Option("x", type, "").value_of(given)


def test_only_declared_options_pass() -> None:
    declared = (SEED, CODEC, WHERE, Option("quiet", OptionType.FLAG, "", OptionPurpose.WRITE, hidden=True))
    found = read_options(declared, {"seed": "5", "codec": "zstd"}, OptionPurpose.WRITE, "toy")
    assert found == {"seed": 5, "codec": "zstd"}
    for given in ({"where": "x"}, {"progress": 1}):
        with pytest.raises(UsageError, match=r"unknown option '(where|progress)' for toy; available: seed, codec$"):
            read_options(declared, given, OptionPurpose.WRITE, "toy")
    with pytest.raises(UsageError, match="codec must be one of none, zstd, not 'lz4'"):
        read_options(declared, {"codec": "lz4"}, OptionPurpose.WRITE, "toy")
