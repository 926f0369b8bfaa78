"""Data Easy Store: shards of business documents by uid and date, big contents beside them."""

from shardcore.format import Format
from shardcore.formats.des.folder import detect_folder, open_folder
from shardcore.formats.des.lookup import locate
from shardcore.formats.des.reader import detect, open_shard
from shardcore.options import Option, OptionType, Purpose

FORMAT = Format(
    name="des",
    title="Data Easy Store",
    suffixes=(".des",),
    detect=detect,
    open=open_shard,
    detect_folder=detect_folder,
    open_folder=open_folder,
    locate=locate,
    options=(
        Option("deleted", OptionType.FLAG, "Serve what a tombstone covers, too."),
        Option("date", OptionType.TEXT, "created_at of the object in ISO 8601; its date counts.", Purpose.LOCATE),
        Option("n_bits", OptionType.INTEGER, "Bits of the shard number, 4 to 16.", Purpose.LOCATE),
        Option("zones", OptionType.TEXT, "A zones file: its path, or its text.", Purpose.LOCATE),
    ),
)
