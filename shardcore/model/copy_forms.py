"""A node, or bytes, in the forms that others take: JSON, a command, lines of Python."""

from __future__ import annotations

from typing import Any

from shardcore.model.node import Node
from shardcore.model.open_again import AS_IT_IS, Again
from shardcore.model.span import Span
from shardcore.model.text import key_text, shell_line, typed


def node_json(node: Node) -> dict[str, Any]:
    """A node as `explain --json` prints it: numbers as they are, byte strings in hex."""
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


def explain_command(uri: str, span: Span, how: Again = AS_IT_IS) -> str:
    """The command that explains the first of some bytes, quoted for a shell.

    Args:
        uri: What is open.
        span: The bytes.
        how: What was chosen when it was opened.
    """
    words = ["shardcore", "explain", typed(uri), f"{span.start:#x}"]
    words += ["--in", span.source] if span.source else []
    return shell_line([*words, *how.words])


def get_command(uri: str, key: str, how: Again = AS_IT_IS) -> str:
    """The command that writes an object to standard output; see `explain_command`.

    A key with characters that act goes through `--keys`, as JSON in printable ASCII.
    """
    words = ["shardcore", "get", typed(uri), *how.words]
    if key.isprintable():
        return shell_line([*words, *(["--"] if key.startswith("-") else []), key])
    # Within single quotes shells change nothing, except that some look for `!`.
    text = key_text(key).replace("'", "\\u0027").replace("!", "\\u0021")
    line = shell_line([*words, "--keys", "-"])
    return line and f"printf '%s\\n' '{text}' | {line}"


def explain_line(uri: str, span: Span, how: Again = AS_IT_IS) -> str:
    """The line of Python that gives the path to the first of some bytes; see `explain_command`."""
    where = f"{span.start:#x}, {span.source!r}" if span.source else f"{span.start:#x}"
    return f"shardcore.open({uri!r}{how.arguments}).explain({where})"


def read_lines(uri: str, span: Span, how: Again = AS_IT_IS) -> str:
    """The lines of Python that read some bytes; see `explain_command`."""
    return (
        "import shardcore\n\n"
        f"with shardcore.open({uri!r}{how.arguments}) as shard:\n"
        f"    data = shard.bytes_of({span.source!r}).read({span.start:#x}, {span.stop:#x})\n"
    )


def curl_command(uri: str, span: Span, how: Again = AS_IT_IS) -> str:
    """The command that fetches some bytes of a file of the web; empty where they have no address there."""
    if span.source or not span.size or not uri.startswith(("http://", "https://")):
        return ""
    return shell_line(["curl", "--fail", "--range", f"{span.start}-{span.stop - 1}", "--output", "bytes.bin", uri])
