"""Questions of an exercise about a Xet shard lookup."""

from __future__ import annotations

from shardcore.shards.practice import Ask, Practice


def practice() -> Practice:
    """Return what is asked: the table key, its entry, the record, and the chunks in the xorb."""
    return Practice(
        before=(Ask("Table key", "key", detail=True), Ask("Search the file lookup table", "entry")),
        after=(
            Ask("Compare the whole hash", "record"),
            Ask("Open the xorb", "start"),
            Ask("Open the xorb", "stop", detail=True),
            Ask("Decompress and check", "size"),
        ),
        options={"compression": ("none",)},
    )
