"""What the reference reader does about damage, as far as it was tried."""

from shardcore.peers import Answer, Peer

_NAME = "bloscpack 0.16.0"


def peers() -> tuple[Peer, ...]:
    """What is known of other readers."""
    return (
        Peer(
            _NAME,
            ("bloscpack.offset", "bloscpack.offsets-unused", "bloscpack.spare-slots"),
            Answer.IGNORES,
            "It never reads by the offsets: it follows the chunks, and uses offsets only to append.",
        ),
        Peer(
            _NAME, ("bloscpack.digest",), Answer.REFUSES, "It compares the digest after each chunk, where there is one."
        ),
        Peer(_NAME, ("bloscpack.trailing",), Answer.IGNORES, "It stops after the last chunk."),
        Peer(
            "blosc2.decompress",
            ("bloscpack.content", "bloscpack.chunk"),
            Answer.CRASHES,
            "Handed a damaged chunk without a check before, it ended 12 of 12 processes; Shardscope looks first.",
        ),
    )
