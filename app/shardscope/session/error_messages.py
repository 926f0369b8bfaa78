"""Error messages of the window."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from shardcore import Remedy, ShardError
from shardcore.errors import reason_of
from shardscope.session.display_text import grouped, sentence

ADVICE: Mapping[Remedy, str] = MappingProxyType(
    {
        Remedy.DELETED: "Choose File > Reopen with options… and include deleted objects.",
        Remedy.XORBS: "Choose File > Reopen with options… and give the folder of the xorbs.",
        Remedy.SPEC: "Choose File > Open as… and give the specification, or open one of the files.",
        Remedy.WORK: "Use the `shardcore` command with a higher limit.",
        Remedy.LIMIT: "Extract it instead.",
        Remedy.REPLACE: "Choose another folder, or replace it.",
        Remedy.HARD_LINKS: "Copy the file and open the copy.",
        Remedy.JOURNAL: "Check where the undo file comes from. The command `shardcore undo` can use it.",
        Remedy.DATE: "Fill in the date, such as 2026-03-05T09:30:00+00:00.",
        Remedy.PROFILE: "The request was not signed. Choose a profile or access keys with read permission.",
        Remedy.RIGHTS: "Request read permission, or try another profile or anonymous access.",
        Remedy.PAYER: "Request read permission, try another profile or anonymous access, or turn on Requester pays.",
        Remedy.LOGIN: "Sign in: https://user:password@host/…, headers.toml, or HF_TOKEN for hf://.",
        Remedy.OTHER_LOGIN: "Check the user and password, the token or the keys.",
        Remedy.WRITE_PROFILE: "The request was not signed. Choose a profile or access keys with write permission.",
        Remedy.WRITE_RIGHTS: "Request write permission, or try another profile.",
        Remedy.UNCONDITIONAL: "Choose Replace, which overwrites without a conditional request.",
        Remedy.RENEW: "Renew the credentials and connect again.",
        Remedy.CLOCK: "Set the clock of this computer.",
        Remedy.REGION: "Connect again and give the region.",
        Remedy.LIMIT_FETCH: "Download the file first.",
        Remedy.LIMIT_REQUESTS: "Open it again.",
        Remedy.COPY: "Download the file first.",
        Remedy.REOPEN: "Reload it.",
        Remedy.AGAIN: "Try again later.",
        Remedy.TRUST: "Set SSL_CERT_FILE or AWS_CA_BUNDLE to the certificates to trust, and restart.",
        Remedy.PROXY: "Check HTTPS_PROXY and NO_PROXY, and restart.",
        Remedy.STORE: "Open it again and confirm, if you trust the file.",
        Remedy.HOST: "Check the address and your network.",
        Remedy.DEDUPE: "Each key can occur only once: choose dedupe to keep one of equal objects.",
        Remedy.NAMES: "Give other keys in a manifest, or choose Skip unreadable.",
        Remedy.SKIP: "Choose Skip unreadable to leave it out.",
        Remedy.FINISH: "Write the shard again and replace it; this first completes the interrupted write.",
        Remedy.KEYS: "Choose another rule for the keys.",
    }
)

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
"""Label of the button that applies a remedy; other remedies have no button."""


def error_text(error: BaseException | None) -> str:
    """Return the message of an error with its location, followed by advice as a second sentence."""
    if isinstance(error, ShardError):
        placed = grouped(error.placed)
        return f"{placed}. {ADVICE[error.remedy]}" if error.remedy is not None else placed
    if isinstance(error, Exception):
        return reason_of(error) or type(error).__name__
    return "stopped"


def failure(what: str, error: BaseException | None, name: str = "") -> str:
    """Return `Cannot open NAME: reason. Advice.`; `name` is removed from the beginning of the reason."""
    reason = error_text(error).removeprefix(f"cannot open {name}: ").removeprefix(f"{name}: ")
    if re.match(r"[A-Z][a-z]*\b", reason):
        reason = f"{reason[0].lower()}{reason[1:]}"
    return sentence(f"{what}: {reason}")
