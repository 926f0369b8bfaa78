"""Compressing payloads as the reference does: frames that state the uncompressed size, without a checksum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shardcore.errors import UsageError

DEFAULT_SKIP = (".jpg", ".jpeg", ".png", ".gif", ".gz", ".zip", ".bz2", ".xz")
"""Endings of uids whose content is not compressed."""

ZSTD_LEVEL = 3
LEVELS = {"zstd": (1, 22), "lz4": (0, 16)}


def check_level(codec: str, level: int | None) -> int:
    """The level of a codec, its usual one where none is given.

    Raises:
        UsageError: The codec has no such level.
    """
    if level is None:
        return ZSTD_LEVEL if codec == "zstd" else 0
    if codec not in LEVELS:
        raise UsageError("level is for codec=zstd and codec=lz4")
    low, high = LEVELS[codec]
    if not low <= level <= high:
        raise UsageError(f"the levels of {codec} are {low} to {high}, not {level}")
    return level


def endings(text: str | None) -> frozenset[str]:
    """The endings that `skip=.jpg,.zip` names, in small letters; those of the reference unless given.

    Raises:
        UsageError: One does not begin with a dot.
    """
    if text is None:
        return frozenset(DEFAULT_SKIP)
    found = frozenset(part.strip().lower() for part in text.split(",") if part.strip())
    for one in sorted(found):
        if not one.startswith("."):
            raise UsageError(f"skip takes endings with their dot, such as .jpg,.zip, not {one!r}")
    return found


def ending_of(uid: str) -> str:
    """The last ending of a uid, in small letters; empty where it has none."""
    name = uid.rstrip("/").rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:].lower() if 0 < dot < len(name) - 1 else ""


class Compressor:
    """Compresses contents with one codec and level.

    Args:
        codec: `zstd` or `lz4`.
        level: The level of the codec.
    """

    def __init__(self, codec: str, level: int) -> None:
        self._codec = codec
        self._level = level
        if codec == "zstd":
            import zstandard

            self._zstd = zstandard.ZstdCompressor(level=level)

    def whole(self, data: bytes) -> bytes:
        """One frame for a content at hand."""
        if self._codec == "zstd":
            return self._zstd.compress(data)
        import lz4.frame

        return bytes(lz4.frame.compress(data, compression_level=self._level))

    def pieces(self, pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
        """One frame for a content of `size` bytes that comes in pieces."""
        if self._codec == "zstd":
            stream = self._zstd.compressobj(size=size)
            for piece in pieces:
                yield stream.compress(piece)
            yield stream.flush()
            return
        import lz4.frame

        with lz4.frame.LZ4FrameCompressor(compression_level=self._level) as frame:
            yield bytes(frame.begin(size))
            for piece in pieces:
                yield bytes(frame.compress(piece))
            yield bytes(frame.flush())
