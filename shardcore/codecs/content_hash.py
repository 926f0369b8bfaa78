"""SHA-256 of content in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def sha256_of(pieces: Iterable[bytes | memoryview], each: Callable[[int], object] | None = None) -> tuple[str, int]:
    """Return the SHA-256 in hex and the size; `each` is called after every piece with the number of bytes so far."""
    import hashlib

    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
        if each is not None:
            each(size)
    return digest.hexdigest(), size
