"""Xet MDB shards: an index of files, xorbs and chunks."""

from shardcore.format import Format
from shardcore.formats.mdb.folder import detect_folder, open_folder
from shardcore.formats.mdb.shard import detect, open_shard
from shardcore.options import Option, OptionType

FORMAT = Format(
    name="mdb",
    title="Xet MDB shard",
    suffixes=(".mdb",),
    detect=detect,
    open=open_shard,
    detect_folder=detect_folder,
    open_folder=open_folder,
    options=(Option("xorbs", OptionType.FOLDER, "The folder that holds the xorbs."),),
)
