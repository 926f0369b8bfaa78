"""Behaviour of the reference reader on damage, as tested."""

from shardcore.model.other_readers import Peer, ReaderAnswer

_NAME = "bloscpack 0.16.0"


def peers() -> tuple[Peer, ...]:
    return (
        Peer(
            _NAME,
            ("bloscpack.offset", "bloscpack.offsets-unused", "bloscpack.spare-slots"),
            ReaderAnswer.IGNORES,
            "It never reads by the offsets: it follows the chunks, and uses offsets only to append.",
        ),
        Peer(
            _NAME,
            ("bloscpack.digest",),
            ReaderAnswer.REFUSES,
            "It compares the checksum after each chunk, if there is one, and stops at a wrong one: the chunks after it "
            "are not returned.",
        ),
        Peer(
            _NAME,
            ("bloscpack.damaged", "bloscpack.chunk", "bloscpack.content", "bloscpack.gap", "bloscpack.slots"),
            ReaderAnswer.REFUSES,
            "It follows the chunks from the end of the offsets on, and fails where none begins.",
        ),
        Peer(
            _NAME,
            ("bloscpack.metadata-digest", "bloscpack.magic-format"),
            ReaderAnswer.REFUSES,
            "It reads the metadata first, and none of the chunks where their checksum or their form is wrong.",
        ),
        Peer(
            _NAME,
            ("bloscpack.chunk-size",),
            ReaderAnswer.IGNORES,
            "It goes by the Blosc header of each chunk, not by the sizes in the header of the file.",
        ),
        Peer(_NAME, ("bloscpack.trailing",), ReaderAnswer.IGNORES, "It stops after the last chunk."),
        Peer(
            "blosc2.decompress",
            ("bloscpack.content", "bloscpack.chunk"),
            ReaderAnswer.CRASHES,
            "Handed a damaged chunk without a check before, it ended 12 of 12 processes; Shardscope looks first.",
        ),
    )
