"""What other readers do about damage, as far as it was tried."""

from shardcore.peers import Answer, Peer


def peers() -> tuple[Peer, ...]:
    """What is known of other readers."""
    return (
        Peer(
            "hf-xet before November 2025",
            ("xorb.tail",),
            Answer.IGNORES,
            "Readers of October 2025 stopped where the info block is cut; newer ones fail there.",
        ),
    )
