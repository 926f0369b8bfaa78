"""Bloscpack, versions 1, 2 and 3."""

from shardcore.format import Format
from shardcore.formats.bloscpack.reader import BloscpackShard, detect, open_bloscpack

FORMAT = Format(
    name="bloscpack",
    title="Bloscpack",
    suffixes=(".blp",),
    detect=detect,
    open=open_bloscpack,
)

__all__ = ["FORMAT", "BloscpackShard"]
