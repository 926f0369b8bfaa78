"""Questions of an exercise about a DES shard lookup."""

from __future__ import annotations

from shardcore.shards.practice import Ask, Practice


def practice() -> Practice:
    """Return what is asked: where the index begins, the entry of the uid, and the place of its content."""
    return Practice(
        before=(Ask("Footer", "index_start", detail=True), Ask("Count", "entry_count", detail=True)),
        after=(
            Ask("Walk", "entry"),
            Ask("Walk", "start", detail=True),
            Ask("Place", "offset"),
            Ask("Place", "length"),
            Ask("Place", "hash"),
            Ask("Place", "size"),
        ),
        options={"codec": ("none",)},
        variants=({"version": "1"}, {"version": "2"}, {"version": "2", "threshold": "250"}),
    )
