"""The samples of Data Easy Store: a folder that routes, a shard without its end, a shard of version 1."""

from __future__ import annotations

import json
from pathlib import Path

import shardcore
from shardcore.formats.des.layout import FOOTER
from shardcore.formats.des.tombstones import tombstone
from tests.samples import contents
from tests.samples.damage import overwritten
from tests.samples.words import sentences

MONDAY, TUESDAY = "2026-01-05T09:30:00+01:00", "2026-01-06T16:05:00+01:00"
THRESHOLD = 2000
PART = 900
"""Uncompressed bytes in one part: the sixth document of number 2A finds no place in the first."""
NUMBERS = ("42", "298", "0042", "1066", "554", "2090")
"""Uids of digits that are 42 modulo 256."""
MISSING = "810"
"""Another one, of no document."""
DELETED = "letter-2026-anna"


def _documents() -> list[tuple[str, bytes, str]]:
    """Uid, content and date of every document."""
    numbered = [(uid, f"Invoice {uid}\n".encode() + sentences(int(uid), 130)[:160], MONDAY) for uid in NUMBERS]
    texts = [
        ("invoice-2026-017", b"Invoice 2026-017\n" + sentences(17, 400), MONDAY),
        (DELETED, b"Dear Anna,\nplease find the contract enclosed.\nBest regards\n", MONDAY),
        ("contract-2026.json", json.dumps({"parties": ["Anna", "Zoë"], "pages": 12}).encode(), TUESDAY),
        ("scan-0007.png", bytes(range(96)), TUESDAY),
        ("minutes-2026-01", b"Minutes of January\n" + sentences(1, 3000), TUESDAY),
        ("298", b"Invoice 298, corrected\n", TUESDAY),
    ]
    return numbered + texts


def write(folder: Path) -> None:
    folder.mkdir()
    archive = folder / "archive"
    archive.mkdir()
    with shardcore.create(archive, format="des", codec="zstd", n_bits=8, max_bytes=PART, threshold=THRESHOLD) as writer:
        for uid, content, date in _documents():
            # What is short only grows when it is compressed.
            codec = "none" if len(content) < 150 else "lz4" if uid == "0042" else "zstd"
            writer.add(uid, content, created_at=date, codec=codec, meta={"pages": 1 + len(content) // 400})
    with shardcore.open(archive) as shard:
        facts = {"deleted_by": "archive", "reason": "asked for by Anna", "ticket_id": "17"}
        for rewrite in tombstone(shard, [DELETED], now="2026-02-01T00:00:00Z", facts=facts, date=MONDAY):
            rewrite.path.write_bytes(rewrite.new)
    (folder / "damaged").mkdir()
    whole = (archive / "20260105_2A_0000.des").read_bytes()
    (folder / "damaged" / "20260105_2A_0000.des").write_bytes(whole[: -FOOTER.size])
    _write_odd(folder / "odd")
    contents.write(folder)


def _write_odd(folder: Path) -> None:
    """Version 1, as old writers left it; then the third uid is overwritten by the second."""
    folder.mkdir()
    path = folder / "20251128_2A_0000.des"
    with shardcore.create(path, format="des", version="1") as writer:
        for uid, content in {
            "42": b"first of three\n",
            "298": b"second, as it was\n",
            "554": b"second, again\n",
        }.items():
            writer.add(uid, content)
    data = path.read_bytes()
    path.write_bytes(overwritten(data, data.rindex(b"554"), b"554", b"298"))
