"""What the values are that the steps of a lookup name."""

from __future__ import annotations

from types import MappingProxyType

from shardcore.trace import Meaning, Meanings

MEANINGS: Meanings = MappingProxyType(
    {
        "chunks": Meaning("how many chunks there are", "chunks"),
        "chunk": Meaning("the number of the chunk"),
        "start": Meaning("where its record begins", "bytes"),
        "stop": Meaning("where its record ends", "bytes"),
        "codec": Meaning("how the chunk is compressed"),
        "size": Meaning("plain bytes of the chunk", "bytes"),
    }
)
