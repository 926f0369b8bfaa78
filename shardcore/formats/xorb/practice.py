"""Questions of an exercise about a xorb lookup."""

from __future__ import annotations

from shardcore.shards.practice import Ask, Practice


def practice() -> Practice:
    """Return what is asked: the info block, and where the record of a chunk begins and ends."""
    return Practice(
        before=(
            Ask("Find the info block", "info_length", detail=True),
            Ask("Find the info block", "info_start", detail=True),
        ),
        after=(
            Ask("Place of the chunk", "start"),
            Ask("Place of the chunk", "stop", detail=True),
            Ask("Read the record's header", "stored_size"),
        ),
        options={"compression": ("none",), "cut": ("no",)},
    )
