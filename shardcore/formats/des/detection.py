"""Detection of DES files; imports little, because files of other formats are examined, too."""

from __future__ import annotations

from shardcore.formats.des.layout import FOOTER, FOOTER_MAGIC, MAGIC, OTHER_FAMILY
from shardcore.shards.format import Certainty, Verdict
from shardcore.sources.prefetched_source import PrefetchedSource

HEAD = 1 << 16
"""Bytes at the start of a file in which the keys of a zones file are searched; they are in the first read."""


def detect(probe: PrefetchedSource) -> Verdict | None:
    """Detect a shard by its magic, a zones file by its keys, and also magic DESHEAD1, which is not supported."""
    if is_zones(probe):
        return Verdict(Certainty.BESIDE, "zones file: n_bits and zones")
    head = probe.head(len(OTHER_FAMILY))
    if head == OTHER_FAMILY:
        return Verdict(Certainty.MAGIC, "magic DESHEAD1: another format that is also called Data Easy Store")
    front = head.startswith(MAGIC)
    back = probe.read_last(FOOTER.size).startswith(FOOTER_MAGIC)
    if front and back:
        return Verdict(Certainty.MAGIC, "magic DES2 and footer DESI")
    if front or back:
        return Verdict(Certainty.PARTLY, "magic DES2, no footer" if front else "footer DESI, no magic DES2")
    return None


def is_zones(probe: PrefetchedSource) -> bool:
    head = probe.head(min(HEAD, probe.head_size))
    if head.startswith(MAGIC) or b"\0" in head:
        return False
    return looks_like_zones(probe.head(HEAD))


def looks_like_zones(head: bytes) -> bool:
    return b"n_bits" in head and b"zones" in head and b"\0" not in head
