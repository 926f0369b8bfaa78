"""Behaviour of the reference reader on damage, as tested."""

from shardcore.model.other_readers import SILENT, Peer, ReaderAnswer

_NAME = "The reference reader of DES"


def peers() -> tuple[Peer, ...]:
    return (
        Peer(
            _NAME,
            ("des.entry",),
            ReaderAnswer.REFUSES,
            "One impossible entry makes it refuse the file; here the other entries stay readable.",
        ),
        Peer(_NAME, ("des.duplicate-uid",), ReaderAnswer.IGNORES, "It uses the last of equal uids without a message."),
        Peer(
            _NAME,
            ("des.two-lengths",),
            ReaderAnswer.WRONG,
            "The local reader goes by length, the S3 reader by compressed_size.",
        ),
        Peer(
            _NAME,
            ("des.checksum", "des.gap", "des.overlap", "des.offset-in-header", SILENT),
            ReaderAnswer.WRONG,
            "Uncompressed content is returned without a check: it has no checksum, and its size is not compared.",
        ),
        Peer(_NAME, ("des.bigfile",), ReaderAnswer.WRONG, "For a BigFile it compares only the size, not the sha256."),
        Peer(
            _NAME,
            ("des.tombstone-key",),
            ReaderAnswer.WRONG,
            "Its retrievers look up uid:timestamp alone: they return objects with a tombstone under the bare uid.",
        ),
        Peer(_NAME, ("des.index-trailing", "des.flags"), ReaderAnswer.IGNORES, "It ignores these bytes."),
    )
