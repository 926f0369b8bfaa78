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
class Stored:
    uid: bytes
    content: bytes = b""
    codec: str = "none"
    meta: dict[str, Any] = field(default_factory=dict)
    big: bool = False
    changes: dict[str, Any] = field(default_factory=dict)
    """Fields of the entry that are written other than they should be."""


def compressed(codec: str, content: bytes) -> bytes:
    if codec == "zstd":
        return zstandard.ZstdCompressor(level=3).compress(content)
    return bytes(lz4.frame.compress(content)) if codec == "lz4" else content


def entry_v2(one: Stored, offset: int, stored: bytes) -> bytes:
    meta = json.dumps(one.meta, separators=(",", ":")).encode() if one.meta else b""
    meta = one.changes.get("meta", meta)
    head = struct.pack("<H", len(one.uid)) + one.uid
    if one.big:
        digest = one.changes.get("hash", hashlib.sha256(one.content).hexdigest().encode())
        size = one.changes.get("size", len(one.content))
        head += struct.pack("<BH", 1, len(digest)) + digest + struct.pack("<Q", size)
    else:
        values = {"flags": 0, "offset": offset, "length": len(stored), "codec": CODECS[one.codec]}
        values |= {"compressed": len(stored), "uncompressed": len(one.content)}
        head += struct.pack("<BQQBQQ", *(one.changes.get(name, value) for name, value in values.items()))
    return head + struct.pack("<I", len(meta)) + meta


def entry_v1(one: Stored, offset: int, stored: bytes, *, short: bool = False) -> bytes:
    head = struct.pack("<H", len(one.uid)) + one.uid + struct.pack("<QQ", offset, len(stored))
    return head if short else head + struct.pack("<BQQ", CODECS[one.codec], len(stored), len(one.content))


def shard(
    stored_objects: list[Stored], *, version: int = 2, short: bool = False, gap: bytes = b"", after: bytes = b""
) -> bytes:
    data = bytearray(b"DES2" + bytes([version, 0, 0, 0]))
    index = bytearray(struct.pack("<I", len(stored_objects)))
    for one in stored_objects:
        stored = b"" if one.big else compressed(one.codec, one.content)
        data += gap
        entry = entry_v2(one, len(data), stored) if version == 2 else entry_v1(one, len(data), stored, short=short)
        index += entry
        data += stored
    index += after
    return bytes(data + index) + b"DESI" + struct.pack("<Q", len(index))


def write(folder: Path, name: str, stored_objects: list[Stored], **how: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for one in stored_objects:
        if one.big:
            external = folder / "_bigFiles" / hashlib.sha256(one.content).hexdigest()
            external.parent.mkdir(exist_ok=True)
            external.write_bytes(one.content)
    path = folder / name
    path.write_bytes(shard(stored_objects, **how))
    return path


def random_stored(seed: int, count: int, *, version: int = 2) -> list[Stored]:
    dice = random.Random(seed)
    stored_objects = {}
    while len(stored_objects) < count:
        letters = (dice.choice([dice.randrange(32, 127), dice.randrange(0x100, 0x3000)]) for _ in range(9))
        path = f"invoices/{dice.randrange(1000)}/{dice.randrange(10**6)}.xml"
        texts = [str(dice.randrange(10**9)), path, "".join(map(chr, letters)), "y" * dice.randrange(300)]
        uid = dice.choice(texts).encode()
        content = dice.choice([b"", dice.randbytes(dice.randrange(3000)), b"text " * dice.randrange(900)])
        one = Stored(uid, content, dice.choice(list(CODECS)))
        if version == 2:
            metas = [{}, {"created_at": "2026-11-03T08:00:00Z", "who": "\u017b"}, {"n": [1, {"x": None}]}]
            one.meta = dice.choice(metas)
            one.big = dice.random() < 0.1
        stored_objects[uid] = one
    return list(stored_objects.values())
