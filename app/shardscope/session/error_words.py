"""Error messages of the window, in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shardcore import Remedy, ShardError
from shardcore.errors import reason_of
from shardscope.session.words import grouped

WORDS: Mapping[Remedy, str] = MappingProxyType(
    {
        Remedy.DELETED: "choose File > Reopen with options…, and Deleted objects, to read it",
        Remedy.XORBS: "choose File > Reopen with options…, and the folder that holds them",
        Remedy.SPEC: "choose File > Open as…, and give the specification, or open one of the files",
        Remedy.WORK: "the command `shardcore` can be told to read more of it",
        Remedy.LIMIT: "extract it instead: files are written piece by piece",
        Remedy.REPLACE: "choose another folder, or have it replaced",
        Remedy.HARD_LINKS: "copy the file, and open the copy",
        Remedy.JOURNAL: "look where it comes from; the command `shardcore undo` can be told to trust it",
        Remedy.DATE: "fill in Date, such as 2026-03-05T09:30:00+00:00",
        Remedy.PROFILE: "the request was not signed: choose a profile, or give keys, that may read it",
        Remedy.RIGHTS: "ask its owner for the right to read it, or try another profile, or anonymous requests",
        Remedy.PAYER: "ask its owner for the right to read it, try another profile or anonymous, or pay as reader",
        Remedy.LOGIN: "give a login: https://user:password@host/…, headers.toml, or HF_TOKEN for hf://",
        Remedy.OTHER_LOGIN: "check the user and password, the token or the keys",
        Remedy.WRITE_PROFILE: "the request was not signed: choose a profile, or give keys, that may write it",
        Remedy.WRITE_RIGHTS: "ask its owner for the right to write it, or try another profile",
        Remedy.UNCONDITIONAL: "have what is there replaced: that is written without a condition",
        Remedy.RENEW: "renew the credentials, then connect again",
        Remedy.CLOCK: "set the clock of this machine",
        Remedy.REGION: "connect again, and name the region",
        Remedy.LIMIT_FETCH: "copy it here first",
        Remedy.LIMIT_REQUESTS: "open it again",
        Remedy.COPY: "copy it here first",
        Remedy.REOPEN: "reload it",
        Remedy.AGAIN: "try again later",
        Remedy.TRUST: "name the certificates to trust in SSL_CERT_FILE or AWS_CA_BUNDLE, and start again",
        Remedy.PROXY: "look at HTTPS_PROXY and NO_PROXY, and start again",
        Remedy.STORE: "open it again, and agree to that, if you trust the file",
        Remedy.HOST: "look at the address, and at the network of this machine",
        Remedy.DEDUPE: "a shard has each key once: choose dedupe to keep one of equal objects",
        Remedy.NAMES: "give other keys by a manifest, or choose to skip unreadable files",
        Remedy.SKIP: "choose Skip unreadable, which leaves it out",
        Remedy.FINISH: "write the shard again and have it replaced, which finishes that first",
        Remedy.KEYS: "choose another rule for the keys",
    }
)
"""Advice for each remedy that an error may have."""

ACTIONS: Mapping[Remedy, str] = MappingProxyType(
    {
        Remedy.DELETED: "Show tombstoned data",
        Remedy.XORBS: "Choose the xorb folder…",
        Remedy.SPEC: "Open as…",
        Remedy.PROFILE: "Choose a profile…",
        Remedy.RIGHTS: "Try anonymous",
        Remedy.PAYER: "Try anonymous",
        Remedy.LOGIN: "Change the address…",
        Remedy.OTHER_LOGIN: "Connect…",
        Remedy.RENEW: "Connect…",
        Remedy.REGION: "Connect…",
        Remedy.HOST: "Change the address…",
        Remedy.REOPEN: "Reload",
        Remedy.AGAIN: "Try again",
    }
)
"""The words on the button that does it, where one can."""


def plain_words(error: BaseException | None) -> str:
    """Return an error as a sentence for the window: what is wrong and where, then what to do about it here."""
    if isinstance(error, ShardError):
        placed = grouped(error.placed)
        return f"{placed}; {WORDS[error.remedy]}" if error.remedy is not None else placed
    if isinstance(error, Exception):
        return reason_of(error) or type(error).__name__
    return "it was stopped"
