"""Sharding specification: computes shard and minishard of a key ("Sharding specification").

Keys are uint64: Python ints one at a time, `uint64` arrays for many, never floats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shardcore.codecs.json_text import parse_json
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, UsageError
from shardcore.model.text import short

SHARDING_TYPE = "neuroglancer_uint64_sharded_v1"
IDENTITY = "identity"
MURMUR = "murmurhash3_x86_128"
HASHES = (IDENTITY, MURMUR)
ENCODINGS = ("raw", "gzip")
KEY_LIMIT = 1 << 64
MOST_FAULTS = 20
"""Maximum number of unknown members named in an error; further ones are counted."""

_BIT_MEMBERS = ("preshift_bits", "minishard_bits", "shard_bits")
_ENCODING_MEMBERS = ("minishard_index_encoding", "data_encoding")
_MEMBERS = ("@type", "preshift_bits", "hash", "minishard_bits", "shard_bits", *_ENCODING_MEMBERS)
_KEY = re.compile(r"[0-9]{1,20}")
_KEY_OR_HEX = re.compile(r"[0-9]{1,20}|0[xX][0-9a-fA-F]{1,16}")
_DIGITS = 19
"""Numbers of up to this many digits are below 2**64."""
_SHARD_NAME = re.compile(r"([0-9a-f]{1,16})\.(shard|index|data)")

Keys = npt.NDArray[np.uint64]


def murmur_low64(key: int) -> int:
    """Return the first 8 bytes of MurmurHash3_x86_128, seed 0, of the key's 8 little-endian bytes."""
    import mmh3  # imported here for a fast start

    low, _ = mmh3.hash64(key.to_bytes(8, "little"), 0, x64arch=False, signed=False)
    return int(low)


def mix(word: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    word = (word ^ (word >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    word = (word ^ (word >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return word ^ (word >> np.uint32(16))


def _rotate(word: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    return (word << np.uint32(bits)) | (word >> np.uint32(32 - bits))


def murmur_low64_many(keys: Keys) -> Keys:
    """Return `murmur_low64` of each key in a uint64 array.

    An 8-byte input has no 16-byte block, so only tail and finalisation remain; arithmetic is modulo 2**32.
    """
    keys = np.asarray(keys, dtype=np.uint64)
    low, high = keys.astype(np.uint32), (keys >> np.uint64(32)).astype(np.uint32)
    c1, c2, c3, length = (np.uint32(n) for n in (0x239B961B, 0xAB0E9789, 0x38B34AE5, 8))
    with np.errstate(over="ignore"):
        h2 = (_rotate(high * c2, 16) * c3) ^ length
        h1 = (_rotate(low * c1, 15) * c2) ^ length
        # For such a short input, words 3 and 4 of the state are both the length.
        h1 = h1 + h2 + length + length
        h2 = h2 + h1
        h3 = h4 = mix(h1 + length)
        h1, h2 = mix(h1), mix(h2)
        h1 = h1 + h2 + h3 + h4
        h2 = h2 + h1
    return h1.astype(np.uint64) | (h2.astype(np.uint64) << np.uint64(32))


@dataclass(frozen=True, slots=True)
class KeyLocation:
    """Shard and minishard of a key, with the numbers from which they are computed.

    `shifted` is `key >> preshift_bits`, `hashed` its 64-bit hash; `minishard` and `shard` are bit fields of the hash.
    `routed` is True if a trace has these steps already from the data set, so that the shard does not add them again.
    """

    key: int
    shifted: int
    hashed: int
    minishard: int
    shard: int
    routed: bool = False

    def __str__(self) -> str:
        return str(self.key)


@dataclass(frozen=True, slots=True)
class ShardingSpec:
    """The sharding parameters of a key space ("Sharding specification").

    Attributes:
        preshift_bits: Number of low bits of the key that are dropped before hashing, 0 to 64.
        hash: `identity` or `murmurhash3_x86_128`.
        minishard_bits: Binary logarithm of the number of minishards per shard.
        shard_bits: Binary logarithm of the number of possible shards.
        minishard_index_encoding: `raw` or `gzip`.
        data_encoding: `raw` or `gzip`; for meshes it applies to manifests only.
    """

    preshift_bits: int
    hash: str
    minishard_bits: int
    shard_bits: int
    minishard_index_encoding: str = "raw"
    data_encoding: str = "raw"

    def __post_init__(self) -> None:
        fault = _range_fault(self.preshift_bits, self.minishard_bits, self.shard_bits)
        if self.hash not in HASHES:
            fault = f"hash must be {' or '.join(HASHES)}, not {short(self.hash)}"
        for member in _ENCODING_MEMBERS:
            if getattr(self, member) not in ENCODINGS:
                fault = f"{member} must be raw or gzip, not {short(getattr(self, member))}"
        if fault:
            raise FormatError(f"sharding: {fault}")

    @classmethod
    def parse(cls, value: object, *, strict: bool = False) -> ShardingSpec:
        """Parse a `sharding` object or its JSON text; raise FormatError if it is invalid.

        Unknown members are ignored, missing encodings mean `raw`, and capitals are accepted, as are numbers as `3.0` or
        `"3"`. With `strict`, everything in `strict_faults` is an error.
        """
        members = parse_json(value, "sharding") if isinstance(value, (str, bytes)) else value
        if not isinstance(members, Mapping):
            raise FormatError(f"sharding is not an object but {type(members).__name__}")
        if strict and (faults := strict_faults(members)):
            raise FormatError("sharding: " + "; ".join(faults))
        if members.get("@type", SHARDING_TYPE) != SHARDING_TYPE:
            raise FormatError(f"sharding: @type is {short(members['@type'])}, not {SHARDING_TYPE!r}")
        if missing := [name for name in (*_BIT_MEMBERS, "hash") if name not in members]:
            raise FormatError(f"sharding: {', '.join(missing)} missing")
        preshift, minishard, shard = (_whole_number(name, members[name]) for name in _BIT_MEMBERS)
        given = (members.get(name) or "raw" for name in _ENCODING_MEMBERS)
        encodings = (one.lower() if isinstance(one, str) else one for one in given)
        return cls(preshift, members["hash"], minishard, shard, *encodings)

    def to_json(self) -> dict[str, Any]:
        return {"@type": SHARDING_TYPE, **{name: getattr(self, name) for name in _MEMBERS[1:]}}

    @property
    def minishards(self) -> int:
        return 1 << self.minishard_bits

    @property
    def shards(self) -> int:
        return 1 << self.shard_bits

    @property
    def index_size(self) -> int:
        """Size of the shard index in bytes; offsets count from its end."""
        return 16 << self.minishard_bits

    def place(self, key: int, *, routed: bool = False) -> KeyLocation:
        """Return the shard and minishard of a key; raise UsageError if the key is not a uint64."""
        if not 0 <= key < KEY_LIMIT:
            raise UsageError(f"a key is an unsigned 64-bit integer, not {key}")
        shifted = key >> self.preshift_bits
        hashed = shifted if self.hash == IDENTITY else murmur_low64(shifted)
        shard = (hashed >> self.minishard_bits) & (self.shards - 1)
        return KeyLocation(key, shifted, hashed, hashed & (self.minishards - 1), shard, routed)

    def hashed_many(self, keys: Keys) -> Keys:
        keys = np.asarray(keys, dtype=np.uint64)
        shifted = shift_right(keys, self.preshift_bits)
        return shifted if self.hash == IDENTITY else murmur_low64_many(shifted)

    def place_many(self, keys: Keys) -> tuple[Keys, Keys]:
        """Return minishard and shard numbers of a uint64 array of keys."""
        hashed = self.hashed_many(keys)
        minishards = hashed & np.uint64(self.minishards - 1)
        return minishards, shift_right(hashed, self.minishard_bits) & np.uint64(self.shards - 1)

    @property
    def name_digits(self) -> int:
        """Number of hex digits in the names of shards: `ceil(shard_bits / 4)`, at least 1."""
        return max(1, -(-self.shard_bits // 4))

    def shard_stem(self, shard: int) -> str:
        """Return the name of a shard without suffix: lower-case hex digits, zero-padded."""
        return f"{shard:0{self.name_digits}x}"

    def shard_name(self, shard: int) -> str:
        return self.shard_stem(shard) + ".shard"

    def shard_of(self, name: str) -> int | None:
        """Return the number of the shard with a file name; None if no shard has this name."""
        named = shard_number(name)
        return named[0] if named is not None and named[1] == self.name_digits and named[0] < self.shards else None


def parse_key(text: str) -> int:
    """Parse a decimal key; raise UsageError if it is not a uint64."""
    number = int(text) if _KEY.fullmatch(text) else KEY_LIMIT
    if number >= KEY_LIMIT:
        raise UsageError(f"a key is an unsigned 64-bit integer in decimal, not {short(text)}")
    return number


def key_number(text: str, who: str = "") -> int:
    """Parse a key passed to a writer: decimal, or hexadecimal with 0x.

    Raises UsageError if it is not a uint64; the message begins with `who`, the name of the input.
    """
    number = int(text, 16 if text[1:2] in "xX" and text[1:2] else 10) if _KEY_OR_HEX.fullmatch(text) else KEY_LIMIT
    if number >= KEY_LIMIT:
        prefix = f"{who}: " if who else ""
        raise UsageError(f"{prefix}a key is an unsigned 64-bit integer, decimal or with 0x, not {short(text)}")
    return number


def key_numbers(texts: Sequence[str]) -> Keys:
    together = "".join(texts)
    if together.isascii() and together.isdigit() and min(map(len, texts)) > 0 and max(map(len, texts)) <= _DIGITS:
        return np.fromiter(map(int, texts), np.uint64, len(texts))
    return np.fromiter(map(key_number, texts), np.uint64, len(texts))


def shard_number(name: str) -> tuple[int, int] | None:
    """Return the shard number in a file name such as `0f.shard`, and its number of digits; None for other names."""
    match = _SHARD_NAME.fullmatch(name)
    return (int(match[1], 16), len(match[1])) if match else None


def shift_right(values: Keys, bits: int) -> Keys:
    """Return `values >> bits`; also correct for 64 bits, which NumPy leaves undefined."""
    return values >> np.uint64(bits) if bits < 64 else np.zeros_like(values)


def strict_faults(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the deviations because of which strict readers reject a sharding object, one text each."""
    faults = [f"{name} missing" for name in _MEMBERS[:5] if name not in value]
    unknown = [name for name in value if name not in _MEMBERS]
    faults += [f"unknown member {short(name)}" for name in unknown[:MOST_FAULTS]]
    faults += [f"{len(unknown) - MOST_FAULTS} more unknown members"] if len(unknown) > MOST_FAULTS else []
    faults += [
        f"{name} is {short(value[name])}, not an integer"
        for name in _BIT_MEMBERS
        if name in value and (isinstance(value[name], bool) or not isinstance(value[name], int))
    ]
    given = {name: value.get(name, "raw") for name in _ENCODING_MEMBERS}
    faults += [f"{name} is {short(encoding)}" for name, encoding in given.items() if encoding not in ENCODINGS]
    minishard_bits = value.get("minishard_bits")
    if isinstance(minishard_bits, int) and minishard_bits > 32:
        faults.append(f"minishard_bits is {short(minishard_bits)}; some readers support at most 32")
    return tuple(faults)


def _whole_number(name: str, value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,4}", value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise FormatError(f"sharding: {name} is {short(value)}, not an integer")


def _range_fault(preshift_bits: int, minishard_bits: int, shard_bits: int) -> str:
    if not 0 <= preshift_bits <= 64:
        return f"preshift_bits is {short(preshift_bits)}; valid: 0 to 64"
    if minishard_bits < 0 or shard_bits < 0:
        return f"minishard_bits is {short(minishard_bits)}, shard_bits {short(shard_bits)}: they cannot be negative"
    if minishard_bits + shard_bits > 64:
        return f"minishard_bits + shard_bits is {short(minishard_bits + shard_bits)}; a hash has only 64 bits"
    return ""
