"""Data Easy Store: shards of business documents by uid and date, big contents beside them."""

from shardcore.format import Format
from shardcore.formats.des.folder import detect_folder, open_folder
from shardcore.formats.des.lookup import locate
from shardcore.formats.des.reader import detect, open_shard

FORMAT = Format(
    name="des",
    title="Data Easy Store",
    suffixes=(".des",),
    detect=detect,
    open=open_shard,
    detect_folder=detect_folder,
    open_folder=open_folder,
    locate=locate,
)
