"""Behaviour of hf-xet on damaged shards, from its source."""

from shardcore.model.other_readers import Peer, ReaderAnswer

_NAME = "hf-xet 1.8.0"


def peers() -> tuple[Peer, ...]:
    return (
        Peer(
            _NAME,
            ("mdb.name",),
            ReaderAnswer.IGNORES,
            "A shard has no digest inside, and its name is not compared again.",
        ),
        Peer(
            _NAME,
            ("mdb.file-hash", "mdb.range-hash"),
            ReaderAnswer.WRONG,
            "It follows segments as they stand and compares no hash: a segment of other chunks returns other bytes.",
        ),
        Peer(
            _NAME,
            ("mdb.segment",),
            ReaderAnswer.REFUSES,
            "It fails where no xorb is called so, or a range does not fit the chunks of the xorb.",
        ),
    )
