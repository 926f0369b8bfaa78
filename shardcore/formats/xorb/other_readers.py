"""Behaviour of hf-xet on damaged xorbs, as tested."""

from shardcore.model.other_readers import Peer, ReaderAnswer

_NAME = "hf-xet 1.8.0"


def peers() -> tuple[Peer, ...]:
    return (
        Peer(
            _NAME,
            ("xorb.chunk-hash",),
            ReaderAnswer.WRONG,
            "Out of a local store it writes what a chunk decompresses to, and compares it with no hash.",
        ),
        Peer(
            _NAME,
            ("xorb.chunk", "xorb.record"),
            ReaderAnswer.REFUSES,
            "It fails where a chunk does not decompress, or not to the size that its header states.",
        ),
        Peer(
            _NAME,
            ("xorb.info-block", "xorb.damaged"),
            ReaderAnswer.REFUSES,
            "It reads the info block first, and none of the chunks where its form is wrong.",
        ),
        Peer(_NAME, ("xorb.hash", "xorb.name"), ReaderAnswer.IGNORES, "It does not compute the hash of a xorb again."),
        Peer(
            "hf-xet before November 2025",
            ("xorb.tail",),
            ReaderAnswer.IGNORES,
            "Readers of October 2025 stopped where the info block is cut; newer ones fail there.",
        ),
    )
