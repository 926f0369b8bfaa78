"""Data Easy Store: shards of business documents by uid and date, big contents beside them."""

from shardcore.format import Format, lazily
from shardcore.options import Option, OptionType, Purpose

FORMAT = Format(
    name="des",
    title="Data Easy Store",
    suffixes=(".des",),
    detect=lazily("shardcore.formats.des.shard:detect"),
    open=lazily("shardcore.formats.des.shard:open_shard"),
    folder_names=("*.des",),
    detect_folder=lazily("shardcore.formats.des.folder:detect_folder"),
    open_folder=lazily("shardcore.formats.des.folder:open_folder"),
    locate=lazily("shardcore.formats.des.lookup:locate"),
    options=(
        Option("deleted", OptionType.FLAG, "Serve objects with a tombstone (deleted ones), too."),
        Option("date", OptionType.TEXT, "created_at of the object in ISO 8601; its date counts.", Purpose.LOCATE),
        Option("n_bits", OptionType.INTEGER, "Bits of the shard number, 4 to 16.", Purpose.LOCATE),
        Option("zones", OptionType.TEXT, "A zones file: its path, or its text.", Purpose.LOCATE),
    ),
    marks=(b"DES2",),
)
