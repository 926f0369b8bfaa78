"""Texts shown in the window: numbers, sizes, names, errors, and bytes for the clipboard. No Qt here."""

from __future__ import annotations

import base64
import math
import re
import time
from collections.abc import Mapping
from datetime import timedelta
from enum import Enum

from shardcore import FieldRole, Node, Remedy, ShardError, Span
from shardcore.errors import reason_of
from shardcore.model import details
from shardcore.model.span import SourceName
from shardcore.model.text import ends_text, long_size, range_text, size_text, without_marks
from shardcore.system import last_part
from shardscope.session.jobs import Job

LONGEST_NAME = 22

_ALONE = re.compile(
    r"""(?:(?<![^\s(\[=→×<>…])|(?<=\.\.))   # after a blank, a bracket, a sign, or the dots of a range
        ([1-9]\d{3,19})                     # what begins with 0 is a digest, or bytes in hex
        (?![\w:/'"-])(?!,\d)(?!\.\d)        # a date, a name, a fraction, or commas already
    """,
    re.VERBOSE,
)
"""Matches numbers in a sentence, except in dates, names, fractions, and numbers with separators."""

_HEX_WORD = re.compile(r"(?=\d*[a-f])[0-9a-f]+")
_BEFORE_KEYS = frozenset(
    {
        *("computed", "stored", "key", "keys", "uid", "uids", "id", "seed", "hash", "version"),
        *("object", "skeleton", "mesh", "annotation", "called"),
    }
)


_HEX = re.compile(r"(?<!\w)0x(0|[1-9a-f][0-9a-f]{0,13})(?!\w)")
"""Matches offsets in messages, but not hashes, which are longer, and not flags or bytes, which have leading zeros."""


class _Notation:
    decimal = False


def set_decimal(decimal: bool) -> bool:
    """Show offsets in decimal instead of hexadecimal notation, everywhere; return whether that changed."""
    changed, _Notation.decimal = decimal != _Notation.decimal, decimal
    return changed


def numbers(text: str) -> str:
    return _HEX.sub(lambda match: f"{int(match[1], 16):,}", text) if _Notation.decimal else text


def offset_words(offset: int) -> str:
    return f"{offset:,}" if _Notation.decimal else f"{offset:#x}"


def range_words(start: int, stop: int, source: str = "") -> str:
    """Return the text for the range `[start, stop)`, with its first and last byte: `0x1171–0x1178 · 8 bytes`."""
    return numbers(range_text(start, stop, source))


def span_words(span: Span, longest: int | None = None) -> str:
    source = source_words(span.source)
    return range_words(span.start, span.stop, cut_middle(source, longest) if longest else source)


def headline(node: Node) -> str:
    return _placed(details.headline(node), node)


def grouped_value(node: Node) -> str:
    return _placed(details.grouped_value(node), node)


def _placed(text: str, node: Node) -> str:
    return numbers(text) if node.role is FieldRole.OFFSET or node.target is not None else text


def grouped(sentence: str) -> str:
    """Return a sentence with thousands separators in its numbers, except in keys and digests."""

    def with_commas(match: re.Match[str]) -> str:
        before = sentence[max(match.start() - 20, 0) : match.start()].split()
        counted = sentence[match.end() :].startswith(" byte")
        is_key = bool(before) and (before[-1].lower() in _BEFORE_KEYS or before[-2:] == ["fragments", "of"])
        beside = [*before[-1:], *sentence[match.end() :].split(maxsplit=1)[:1]]
        in_hex = any(len(word) == len(match[0]) and _HEX_WORD.fullmatch(word) for word in beside)
        return match[0] if in_hex or (is_key and not counted) else f"{int(match[0]):,}"

    return numbers(_ALONE.sub(with_commas, sentence))


def sentence(text: str) -> str:
    """Return an error message as a sentence; a key or field name at the beginning is not capitalised."""
    said = without_marks(text).strip()
    if re.match(r"[a-z]+(?=[\s,])", said):
        said = said[0].upper() + said[1:]
    return said if not said or said[-1] in ".!?…" else f"{said}."


def source_words(name: str) -> str:
    parsed = SourceName.parse(name)
    if not parsed.stretches:
        return parsed.path
    start, stop = parsed.stretches[-1]
    outer = source_words(str(parsed.outer))
    return f"decoded bytes {numbers(ends_text(start, stop))}" + (f" of {outer}" if outer else "")


def node_name(node: Node) -> str:
    return source_words(node.name) if node.name == node.span.source else node.name


def known_size(size: int) -> str:
    return "unknown until read" if size < 0 else long_size(size)


def share_text(part: int, whole: int) -> str:
    share = 100 * part / whole if whole else 0.0
    if 0 < share < 0.1:
        return "< 0.1 %"
    return f"{share:.1f} %"


def cut_end(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def cut_middle(name: str, longest: int = LONGEST_NAME) -> str:
    return name if len(name) <= longest else f"{name[: longest // 2]}…{name[-(longest // 2 - 1) :]}"


def short_name(address: str) -> str:
    return cut_middle(last_part(address))


# --- bytes for the clipboard: as seen, hex, C, Python, base64 ---

MAX_BYTES = 16 * 1024 * 1024

GROUP = 8
"""Bytes per group of the hex view; groups are two spaces apart."""

_PER_LINE = 16

PRINTABLE = bytes(b if 0x20 <= b < 0x7F else 0x2E for b in range(256))
"""Translation table for the text column: bytes that are not printable ASCII become dots."""


class CopyAs(Enum):
    SEEN = "as seen"
    HEX = "hex"
    C = "C array"
    PYTHON = "Python bytes"
    BASE64 = "base64"


class TooMuchToCopy(Exception):
    """Raised if more than `MAX_BYTES` are to be copied."""


def check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise TooMuchToCopy(
            f"{size:,} bytes are selected; at most {MAX_BYTES // 2**20} MiB can be copied; extract them instead."
        )


def copied(data: bytes, form: CopyAs, *, start: int = 0, width: int = 16, lead: int = 0, digits: int = 8) -> str:
    """Return bytes as text. Rows of `CopyAs.SEEN` have `width` bytes and begin where `(offset + lead) % width` is 0."""
    check_size(len(data))
    rows = [data[at : at + _PER_LINE] for at in range(0, len(data), _PER_LINE)]
    match form:
        case CopyAs.SEEN:
            return as_seen(data, start=start, width=width, lead=lead, digits=digits)
        case CopyAs.HEX:
            return data.hex(" ")
        case CopyAs.C:
            body = ",\n    ".join(", ".join(f"0x{byte:02x}" for byte in row) for row in rows)
            return f"static const unsigned char data[{max(len(data), 1)}] = {{\n    {body or '0'}\n}};\n"
        case CopyAs.PYTHON:
            literals = ['b"' + "".join(f"\\x{byte:02x}" for byte in row) + '"' for row in rows or [b""]]
            return f"data = {literals[0]}\n" if len(rows) < 2 else "data = (\n    " + "\n    ".join(literals) + "\n)\n"
        case CopyAs.BASE64:
            return base64.encodebytes(data).decode("ascii").rstrip()


def as_seen(data: bytes, *, start: int = 0, width: int = 16, lead: int = 0, digits: int = 8) -> str:
    lines = []
    at = 0
    hex_width = len(hex_cells(bytes(width)))
    while at < len(data):
        skip = (start + at + lead) % width
        row = data[at : at + width - skip]
        offset = max(start + at - skip, 0)
        cells = hex_cells(row, skip)
        text = " " * skip + row.translate(PRINTABLE).decode("ascii")
        lines.append(f"{offset:0{digits}x}  {cells:<{hex_width}}  {text}".rstrip())
        at += len(row)
    return "\n".join(lines)


def hex_cells(row: bytes, skip: int = 0) -> str:
    pairs = ["  "] * skip + [f"{byte:02x}" for byte in row]
    return "  ".join(" ".join(pairs[at : at + GROUP]) for at in range(0, len(pairs), GROUP))


# --- errors ---

ADVICE: Mapping[Remedy, str] = {
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

ACTIONS: Mapping[Remedy, str] = {
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


def pace_text(job: Job) -> str:
    """Return rate and time left of a running job, `12.3 MiB/s · 0:42 left`; empty in its first second."""
    now = time.monotonic()
    rate = job.rate.now(now)
    if job.state.ended or not rate or now - job.started < 1:
        return ""
    amount = size_text(round(rate)) if job.unit == "byte" else f"{rate:,.{int(rate < 10)}f} {job.unit}s"
    left = (job.total_amount - job.done_amount) / rate
    parts = f"{amount}/s" if job.unit else "", f"{clock_text(left)} left" if left > 0 else ""
    return " · ".join(filter(None, parts))


def clock_text(seconds: float) -> str:
    return str(timedelta(seconds=math.ceil(seconds))).removeprefix("0:").removeprefix("0")
