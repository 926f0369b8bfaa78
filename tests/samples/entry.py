"""What is said of a sample, and how one is bent by hand."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Key:
    """A key to look up in a sample.

    Attributes:
        key: In the text form of the format.
        about: What its lookup shows, one sentence.
    """

    key: str
    about: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A sample, as `samples.json` lists it.

    Attributes:
        path: Relative to the folder of the samples.
        format: The name of its format.
        role: `main`, the one that is shown first; `featured`, with a card of its own; `further`, `damaged` or `odd`.
        title: What people call it.
        about: What is in it, a few words.
        see: What to see in it, one sentence.
        typical: A key that is found like any other.
        crowded: A key that shares its way with others.
        absent: A key that is not there.
    """

    path: str
    format: str
    role: str
    title: str
    about: str
    see: str
    typical: Key
    crowded: Key
    absent: Key

    def as_json(self) -> dict[str, Any]:
        """The members of `samples.json`."""
        members = asdict(self)
        keys = [{"role": role, **members.pop(role)} for role in ("typical", "crowded", "absent")]
        return {**members, "keys": keys}


def flipped(data: bytes, at: int, bit: int) -> bytes:
    """The bytes with one bit of the byte at `at` turned over; bit 0 is the lowest."""
    found = bytearray(data)
    found[at] ^= 1 << bit
    return bytes(found)


def overwritten(data: bytes, at: int, old: bytes, new: bytes) -> bytes:
    """The bytes with those at `at`, which have to be `old`, replaced by as many others."""
    assert data[at : at + len(old)] == old
    assert len(old) == len(new)
    return data[:at] + new + data[at + len(old) :]
