"""Xet xorbs: the containers of chunks that MDB shards point at."""

from shardcore.format import Format
from shardcore.formats.xorb.reader import detect, infer, open_xorb

FORMAT = Format(
    name="xorb",
    title="Xet xorb",
    suffixes=(".xorb",),
    detect=detect,
    open=open_xorb,
    infer=infer,
)
