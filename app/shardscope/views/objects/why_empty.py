"""Why no objects are shown, in one sentence."""

from __future__ import annotations

from shardcore import NotAShard
from shardscope.session.session import IndexState, Session


def why_none(session: Session) -> str | None:
    """What to say instead of how many rows there are; None where there are rows, or none for no reason."""
    shard = session.shard
    if shard is None:
        return ""
    if session.listing is None:
        words = {
            IndexState.LOADING: "Reading the index: the objects are known then …",
            IndexState.FAILED: "The objects cannot be read.",
        }
        return words.get(session.index_state, "The objects are known once the index is read.")
    if shard.damage is not None and not len(session.listing):
        why = "it is not a shard" if isinstance(shard.damage, NotAShard) else "the file is damaged"
        return f"No objects can be read: {why}."
    return None


def none_by_damage(session: Session) -> bool:
    """Return whether damage hides all objects of a file whose format is known."""
    shard = session.shard
    damage = shard.damage if shard is not None else None
    return damage is not None and not isinstance(damage, NotAShard) and not len(session.listing or ())
