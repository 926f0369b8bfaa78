"""Behaviour of hf-xet on damaged shards, from its source."""

from shardcore.model.other_readers import Peer, ReaderAnswer

_NAME = "hf-xet 1.8.0"


def peers() -> tuple[Peer, ...]:
    return (
        Peer(
            _NAME,
            ("mdb.name",),
            ReaderAnswer.IGNORES,
            "A shard has no checksum inside, and its name is not checked.",
        ),
        Peer(
            _NAME,
            ("mdb.file-hash", "mdb.range-hash"),
            ReaderAnswer.WRONG,
            "It follows segments without comparing hashes: a wrong segment returns wrong bytes.",
        ),
        Peer(
            _NAME,
            ("mdb.segment",),
            ReaderAnswer.REFUSES,
            "It fails if no xorb has this name, or the range exceeds its chunks.",
        ),
    )
