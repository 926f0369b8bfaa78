"""Behaviour of hf-xet on damaged xorbs, as tested."""

from shardcore.model.other_readers import Peer, ReaderAnswer

_NAME = "hf-xet 1.8.0"


def peers() -> tuple[Peer, ...]:
    return (
        Peer(
            _NAME,
            ("xorb.chunk-hash",),
            ReaderAnswer.WRONG,
            "From a local store it writes the decompressed chunk without comparing its hash.",
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
            "It reads the info block first; if that is invalid, it reads no chunk.",
        ),
        Peer(_NAME, ("xorb.hash", "xorb.name"), ReaderAnswer.IGNORES, "It does not recompute the hash of a xorb."),
        Peer(
            "hf-xet before November 2025",
            ("xorb.tail",),
            ReaderAnswer.IGNORES,
            "Readers of October 2025 stopped at the truncated info block; newer ones fail.",
        ),
    )
