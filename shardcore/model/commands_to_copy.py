"""Nodes and bytes as JSON, shell commands and Python code, for copying."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shardcore.model.node import Node
from shardcore.model.safe_text import key_text, shell_line, typed
from shardcore.model.span import Span


@dataclass(frozen=True, slots=True)
class OpenedWith:
    """Options that a shard was opened with, except keys and tokens; `partial`: the readable part of a damaged shard."""

    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    remote: Mapping[str, Any] = field(default_factory=dict)
    partial: bool = False

    @property
    def words(self) -> list[str]:
        found = ["--format", self.format] if self.format else []
        for name, value in (self._shown(self.options) | self._shown(self.remote)).items():
            flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
            found += [flag] if value is True else [flag, str(value)]
        return found

    @property
    def arguments(self) -> str:
        found = {"format": self.format} if self.format else {}
        texts = [f"{name}={value!r}" for name, value in (found | self._shown(self.options)).items()]
        if remote := self._shown(self.remote):
            inner = ", ".join(f"{name}={value!r}" for name, value in remote.items())
            texts.append(f"remote=shardcore.RemoteOptions({inner})")
        if self.partial:
            texts.append("partial=True")
        return "".join(f", {text}" for text in texts)

    @staticmethod
    def _shown(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: one for name, one in values.items() if isinstance(one, (str, int)) and one not in (False, "")}


DEFAULTS = OpenedWith()

_FLAGS = {"anonymous": "--no-sign-request"}
"""Flags whose name differs from the option."""

SHOWN_OPTIONS = ("endpoint_url", "region", "profile", "anonymous", "requester_pays", "addressing")
"""Connection options without secrets and limits."""


def node_json(node: Node) -> dict[str, Any]:
    """Return a node in the JSON form of `explain --json`; byte strings in hex."""
    value = node.value.hex() if isinstance(node.value, bytes) else node.value
    found: dict[str, Any] = {
        "name": node.name,
        "span": node.span.to_json(),
        "value": value,
        "text": node.text,
        "role": node.role.name.lower(),
        "doc": node.doc,
    }
    if node.differs is not None:
        found["differs"] = {"page": node.differs.page, "practice": node.differs.practice}
    return found


def explain_command(uri: str, span: Span, how: OpenedWith = DEFAULTS) -> str:
    """Return the quoted shell command that explains the first byte of a span."""
    words = ["shardcore", "explain", typed(uri), f"{span.start:#x}"]
    words += ["--in", span.source] if span.source else []
    return shell_line([*words, *how.words])


def get_command(uri: str, key: str, how: OpenedWith = DEFAULTS) -> str:
    """Return the shell command that writes an object to standard output; a key that is not printable uses `--keys`."""
    words = ["shardcore", "get", typed(uri), *how.words]
    if key.isprintable():
        return shell_line([*words, *(["--"] if key.startswith("-") else []), key])
    # Within single quotes shells change nothing, except that some look for `!`.
    text = key_text(key).replace("'", "\\u0027").replace("!", "\\u0021")
    line = shell_line([*words, "--keys", "-"])
    return line and f"printf '%s\\n' '{text}' | {line}"


def explain_line(uri: str, span: Span, how: OpenedWith = DEFAULTS) -> str:
    where = f"{span.start:#x}, {span.source!r}" if span.source else f"{span.start:#x}"
    return f"shardcore.open({uri!r}{how.arguments}).explain({where})"


def read_lines(uri: str, span: Span, how: OpenedWith = DEFAULTS) -> str:
    return (
        "import shardcore\n\n"
        f"with shardcore.open({uri!r}{how.arguments}) as shard:\n"
        f"    data = shard.bytes_of({span.source!r}).read({span.start:#x}, {span.stop:#x})\n"
    )


def curl_command(uri: str, span: Span, how: OpenedWith = DEFAULTS) -> str:
    """Return the `curl` command that fetches a span; empty if the bytes have no URL."""
    if span.source or not span.size or not uri.startswith(("http://", "https://")):
        return ""
    return shell_line(["curl", "--fail", "--range", f"{span.start}-{span.stop - 1}", "--output", "bytes.bin", uri])
