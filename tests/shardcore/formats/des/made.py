"""Makes DES files with plain `struct`, after the fact that is stated here and nowhere else: no code of shardcore.

`header 8 | data | index | footer 12`; see docs/formats/des.md.
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lz4.frame
import zstandard

CODECS = {"none": 0, "zstd": 1, "lz4": 2}


@dataclass
class Thing:
    """One object to store."""

    uid: bytes
    content: bytes = b""
    codec: str = "none"
    meta: dict[str, Any] = field(default_factory=dict)
    big: bool = False
    changes: dict[str, Any] = field(default_factory=dict)
    """Fields of the entry that are written other than they should be."""


def compressed(codec: str, content: bytes) -> bytes:
    """A payload as the reference stores it."""
    if codec == "zstd":
        return zstandard.ZstdCompressor(level=3).compress(content)
    return bytes(lz4.frame.compress(content)) if codec == "lz4" else content


def entry_v2(thing: Thing, offset: int, stored: bytes) -> bytes:
    """One entry of version 2."""
    meta = json.dumps(thing.meta, separators=(",", ":")).encode() if thing.meta else b""
    meta = thing.changes.get("meta", meta)
    head = struct.pack("<H", len(thing.uid)) + thing.uid
    if thing.big:
        digest = thing.changes.get("hash", hashlib.sha256(thing.content).hexdigest().encode())
        head += (
            struct.pack("<BH", 1, len(digest))
            + digest
            + struct.pack("<Q", thing.changes.get("size", len(thing.content)))
        )
    else:
        values = {
            "flags": 0,
            "offset": offset,
            "length": len(stored),
            "codec": CODECS[thing.codec],
            "compressed": len(stored),
            "uncompressed": len(thing.content),
        } | {k: v for k, v in thing.changes.items() if k != "meta"}
        head += struct.pack("<BQQBQQ", *values.values())
    return head + struct.pack("<I", len(meta)) + meta


def entry_v1(thing: Thing, offset: int, stored: bytes, *, short: bool = False) -> bytes:
    """One entry of version 1, in the longer or the first layout."""
    head = struct.pack("<H", len(thing.uid)) + thing.uid + struct.pack("<QQ", offset, len(stored))
    return head if short else head + struct.pack("<BQQ", CODECS[thing.codec], len(stored), len(thing.content))


def shard(things: list[Thing], *, version: int = 2, short: bool = False, gap: bytes = b"", after: bytes = b"") -> bytes:
    """A whole shard; `gap` comes before every payload, `after` behind the last entry."""
    data = bytearray(b"DES2" + bytes([version, 0, 0, 0]))
    index = bytearray(struct.pack("<I", len(things)))
    for thing in things:
        stored = b"" if thing.big else compressed(thing.codec, thing.content)
        data += gap
        entry = entry_v2(thing, len(data), stored) if version == 2 else entry_v1(thing, len(data), stored, short=short)
        index += entry
        data += stored
    index += after
    return bytes(data + index) + b"DESI" + struct.pack("<Q", len(index))


def write(folder: Path, name: str, things: list[Thing], **how: Any) -> Path:
    """A shard in a folder, with its BigFiles."""
    folder.mkdir(parents=True, exist_ok=True)
    for thing in things:
        if thing.big:
            external = folder / "_bigFiles" / hashlib.sha256(thing.content).hexdigest()
            external.parent.mkdir(exist_ok=True)
            external.write_bytes(thing.content)
    path = folder / name
    path.write_bytes(shard(things, **how))
    return path


def random_things(seed: int, count: int, *, version: int = 2) -> list[Thing]:
    """Objects of all kinds."""
    dice = random.Random(seed)
    things = {}
    while len(things) < count:
        uid = dice.choice(
            [
                str(dice.randrange(10**9)),
                f"invoices/{dice.randrange(1000)}/{dice.randrange(10**6)}.xml",
                "".join(chr(dice.choice([dice.randrange(32, 127), dice.randrange(0x100, 0x3000)])) for _ in range(9)),
                "y" * dice.randrange(300),
            ]
        ).encode()
        content = dice.choice([b"", dice.randbytes(dice.randrange(3000)), b"text " * dice.randrange(900)])
        thing = Thing(uid, content, dice.choice(list(CODECS)))
        if version == 2:
            thing.meta = dice.choice(
                [{}, {"created_at": "2026-11-03T08:00:00Z", "who": "\u017b"}, {"n": [1, {"x": None}]}]
            )
            thing.big = dice.random() < 0.1
        things[uid] = thing
    return list(things.values())
