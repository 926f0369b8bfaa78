"""Bloscpack, versions 1, 2 and 3."""

from shardcore.format import Format
from shardcore.formats.bloscpack.shard import BloscpackShard, detect, open_shard
from shardcore.options import Option, OptionType

FORMAT = Format(
    name="bloscpack",
    title="Bloscpack",
    suffixes=(".blp",),
    detect=detect,
    open=open_shard,
    options=(
        Option(
            "isolated",
            OptionType.FLAG,
            "Decompress chunks in a process of their own, which may fail alone.",
            hidden=True,
        ),
    ),
)

__all__ = ["FORMAT", "BloscpackShard"]
