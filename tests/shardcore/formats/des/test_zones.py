"""Promises of the zones file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shardcore.errors import FormatError
from shardcore.formats.des.zones import Zones


def _zone(name: str, start: Any, end: Any, **s3: str) -> dict[str, Any]:
    return {"name": name, "range": {"start": start, "end": end}, "s3": s3}


def _parse(*zones: Any, n_bits: Any = 8) -> Zones:
    return Zones.parse(json.dumps({"n_bits": n_bits, "zones": list(zones)}))


def test_both_ends_belong_to_the_zone() -> None:
    zones = _parse(_zone("b", 200, 255), _zone("a", 0, 127, bucket="docs", prefix="/des/"))
    assert [z.name for z in zones.zones] == ["a", "b"]
    owners = [found.name if (found := zones.zone_of(number)) else None for number in (0, 127, 128, 200, 255)]
    assert owners == ["a", "a", None, "b", "b"]
    assert zones.zones[0].uri == "s3://docs/des/"
    assert zones.zones[1].uri == ""


@pytest.mark.parametrize(
    ("zones", "n_bits", "why"),
    [
        ([_zone("a", 0, 10), _zone("b", 10, 20)], 8, "both contain number 10"),
        ([_zone("a", 0, 256)], 8, "not a shard number"),
        ([_zone("a", -1, 2)], 8, "not a shard number"),
        ([_zone("a", 3, 2)], 8, "starts at 3"),
        ([_zone("a", True, 2)], 8, "not a shard number"),
        ([_zone("a", "0", 2)], 8, "not a shard number"),
        ([{"name": "a"}], 8, "not a mapping"),
        ([{"range": {}}], 8, "no name"),
        (["a"], 8, "not a mapping"),
        ([], 3, "n_bits"),
        ([], "8", "n_bits"),
    ],
)
def test_refused(zones: list[Any], n_bits: Any, why: str) -> None:
    with pytest.raises(FormatError, match=why):
        _parse(*zones, n_bits=n_bits)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", b"\xff\xfe", "[" * 100_000, "!!python/object/apply:os.getcwd []", " " * (1 << 21), "\t:\0"],
    ids=["empty", "list", "open", "not utf-8", "deep", "yaml object", "large", "control"],
)
def test_hostile_text(text: str | bytes) -> None:
    with pytest.raises(FormatError):
        Zones.parse(text)
