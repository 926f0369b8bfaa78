"""Questions of an exercise about a Neuroglancer lookup."""

from __future__ import annotations

import json

from shardcore.shards.practice import Ask, Mistake, Practice, Slip, Values

_GIVEN = (
    "In the specification: `preshift_bits` {preshift_bits in Specification}, `hash` {hash in Specification}, "
    "`minishard_bits` {minishard_bits in Specification}, `shard_bits` {shard_bits in Specification}; minishard indices "
    "and values are stored raw."
)
_HASHES = ("identity", "murmurhash3_x86_128")
_HASHED = "The hash of the key without its low bits is `{hash in Hash}`."


def practice() -> Practice:
    """Return what is asked: the minishard, its index, and the place of the value."""
    specs = tuple(_spec(preshift, bits, name) for preshift in (0, 1, 2) for bits in (1, 2, 3) for name in _HASHES)
    return Practice(
        before=(
            Ask("Drop low bits", "shifted", detail=True),
            Ask("Split", "minishard", given=_HASHED, mistakes=_minishard_mistakes()),
            Ask("Shard index entry", "start", mistakes=(_relative("start_offset"),)),
            Ask("Shard index entry", "stop", detail=True, mistakes=(_relative("end_offset"),)),
            Ask("Minishard index", "keys", detail=True),
        ),
        after=(
            Ask("Keys", "position", detail=True),
            Ask("Place of the value", "start", mistakes=(_gapless(),)),
            Ask("Place of the value", "size"),
        ),
        options={"spec": specs, "order": ("by-minishard", "indices-last")},
        given=_GIVEN,
    )


def _spec(preshift: int, bits: int, name: str) -> str:
    return json.dumps(
        {
            "@type": "neuroglancer_uint64_sharded_v1",
            "preshift_bits": preshift,
            "hash": name,
            "minishard_bits": bits,
            "shard_bits": 0,
            "minishard_index_encoding": "raw",
            "data_encoding": "raw",
        }
    )


def _minishard_mistakes() -> tuple[Mistake, ...]:
    def unshifted(values: Values) -> int:
        return int(values["key"]) % (1 << int(values["minishard_bits"]))

    said = "Only the low bits of the hash give the minishard"
    return (
        Mistake(Slip.NO_REMAINDER, lambda values: int(values["Hash: hash"], 16), said),
        Mistake(Slip.SWAPPED, unshifted, "These are the low bits of the key itself: the shift comes first"),
    )


_BASE = "That counts from the end of the shard index, not from the beginning of the file"


def _relative(name: str) -> Mistake:
    return Mistake(Slip.WRONG_BASE, lambda values: values[name], _BASE)


def _gapless() -> Mistake:
    def relative(values: Values) -> int:
        return int(values["Place of the value: start"]) - (16 << int(values["minishard_bits"]))

    return Mistake(Slip.WRONG_BASE, relative, _BASE)
