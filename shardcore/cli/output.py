"""Output of commands: JSON for programs, text for people, messages on standard error, and a progress bar."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardcore.dataclasses import dataclass
from shardcore.errors import ConnectionFailed, FormatError, Remedy, ServerFailed, ShardError, SourceError, reported_as
from shardcore.model.text import json_values, plural, visible
from shardcore.progress import Progress, no_progress

if TYPE_CHECKING:
    from shardcore.model.node import Node
    from shardcore.model.objects import ObjectRef
    from shardcore.shards.shard import Shard
    from shardcore.sources.remote.upload import BucketFolder


def print_json(value: Any) -> None:
    """Print one JSON value on one line, non-ASCII characters escaped."""
    sys.stdout.write(json.dumps(value, ensure_ascii=True) + "\n")


def print_line(text: str = "") -> None:
    """Print one line; control characters are escaped."""
    sys.stdout.write(visible(text) + "\n")


def print_rest(count: int, printed: int, noun: str, many: str = "") -> None:
    if count > printed:
        print_line(f"… and {plural(count - printed, noun, many)} more")


def emit_line(text: str) -> None:
    """Print one line; if the pipe is broken, printing stops but the command continues."""
    _write_on(visible(text) + "\n")


def emit_json(value: Any) -> None:
    _write_on(json.dumps(value, ensure_ascii=True) + "\n")


def _write_on(text: str) -> None:
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        silence_output()


def write_text_to(target: str | Path, text: str) -> None:
    if str(target) == "-":
        sys.stdout.write(text)
        return
    with reported_as(f"cannot write {target}"):
        Path(target).write_text(text, encoding="utf-8")


def silence_output() -> None:
    """Redirect standard output to the null device, so that the interpreter does not fail when it flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def warn(text: str) -> None:
    if sys.stderr is None:
        return
    sys.stderr.write(f"shardcore: {visible(text)}\n")


def confirmed(question: str) -> bool:
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


FLAGS = {
    Remedy.DELETED: "add --deleted to read it",
    Remedy.XORBS: "--xorbs DIR names the folder that contains them",
    Remedy.SPEC: "give --spec, the manifest that convert wrote, or one of the files",
    Remedy.LIMIT: "--limit-bytes raises the limit",
    Remedy.WORK: "--limit-work raises the limit",
    Remedy.REPLACE: "--force replaces it",
    Remedy.HARD_LINKS: "--hard-links edits it under all its names; or edit a copy",
    Remedy.JOURNAL: "--trust uses it (for a copy or a restored backup): check first where it comes from",
    Remedy.FINISH: "shardcore pack FORMAT OUT --force completes it, with or without inputs",
    Remedy.KEYS: "choose another rule: --key sha256, number or name",
    Remedy.DEDUPE: "keys must be unique: --dedupe keeps one of equal objects",
    Remedy.NAMES: "give other keys with --manifest, or skip such files with --skip-unreadable",
    Remedy.SKIP: "--skip-unreadable skips it",
    Remedy.DATE: "give the time, such as --date 2026-03-05T09:30:00+00:00",
    Remedy.PROFILE: "the request was not signed: --profile NAME names credentials that may read it",
    Remedy.RIGHTS: "ask its owner for read access, or try another --profile or --no-sign-request",
    Remedy.PAYER: "ask its owner for read access, or try another --profile, --no-sign-request, "
    "or --requester-pays if readers pay",
    Remedy.WRITE_PROFILE: "the request was not signed: --profile NAME names credentials that may write it",
    Remedy.WRITE_RIGHTS: "ask its owner for write access, or try another --profile",
    Remedy.UNCONDITIONAL: "--force writes without the condition, and replaces existing objects",
    Remedy.REGION: "name the region with --region",
    Remedy.STORE: "--yes opens it; --zones FILE opens the stores and folders of a zones file that you trust",
    Remedy.LIMIT_FETCH: "--limit-fetch raises the limit",
    Remedy.LIMIT_REQUESTS: "--limit-requests raises the limit",
    # Remedies without a flag.
    **{
        remedy: remedy.value
        for remedy in (
            Remedy.LOGIN,
            Remedy.OTHER_LOGIN,
            Remedy.RENEW,
            Remedy.CLOCK,
            Remedy.COPY,
            Remedy.REOPEN,
            Remedy.AGAIN,
            Remedy.TRUST,
            Remedy.PROXY,
            Remedy.HOST,
        )
    },
}
"""Advice for each remedy of an error, in terms of command-line options."""


WITHOUT_FLAG = {
    Remedy.LIMIT: "raise --limit-bytes of get or extract",
    Remedy.WORK: "raise --limit-work of verify, ls and similar commands",
    Remedy.REPLACE: "give another name, or remove it first",
    Remedy.DEDUPE: "choose different keys with --key number or name, if the format allows them",
}
"""Advice per remedy for commands without those options."""


def with_advice(text: str, remedy: Remedy | None, options: Container[str] | None = None) -> str:
    """Return a message with the advice for a remedy that fits the command; `options` are its options, None: any."""
    if remedy is None:
        return text
    advice = FLAGS[remedy]
    own = not advice.startswith("shardcore ")
    if own and options is not None and any(flag not in options for flag in re.findall(r"--[a-z-]+", advice)):
        advice = WITHOUT_FLAG.get(remedy, "")
    return f"{text}; {advice}" if advice else text


def stopped(error: SourceError, after: str) -> SourceError:
    """Return the error with a message that states after how many objects the command stopped (`after`)."""
    what = "source unreachable" if isinstance(error, (ConnectionFailed, ServerFailed)) else "stopped"
    error.message = f"{what} after {after}: {error.message}"
    return error


def error_line(error: ShardError) -> str:
    return with_advice(error.placed, error.remedy)


def info_json(shard: Shard, uri: str) -> dict[str, Any]:
    sections = [{"name": s.name, "role": s.role.value, "start": s.start, "stop": s.stop} for s in shard.sections]
    found: dict[str, Any] = {
        "uri": uri,
        "format": shard.format,
        "why": shard.why,
        "version": shard.version,
        "size": shard.size,
        "objects": shard.declared_objects,
        "sections": sections,
        "fields": {name: json_values(value) for name, value in shard.fields.items()},
    }
    if shard.damage is not None:
        found["damage"] = {
            "message": shard.damage.message,
            "span": shard.damage.span.to_json() if shard.damage.span else None,
        }
    return found


class NodeCount:
    """Number of nodes that may still be printed; None for no limit."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.left = most

    def take(self) -> bool:
        if self.left is not None:
            if not self.left:
                return False
            self.left -= 1
        return True

    @property
    def over(self) -> str:
        """Message printed in place of the nodes beyond the limit."""
        return f"only {self.most} nodes are printed; --nodes 0 prints all"


def print_node_json(node: Node, depth: int, count: NodeCount) -> None:
    """Print a subtree as one line of JSON; each node is printed as soon as it is created."""
    count.take()
    _write_node(node, depth, count)
    sys.stdout.write("\n")


def _write_node(node: Node, depth: int, count: NodeCount) -> None:
    found = node_json(node)
    children, error = children_of(node, count) if depth > 0 else ([], "")
    found["error"] = found["error"] or error
    sys.stdout.write(json.dumps(found, ensure_ascii=True)[:-1] + ', "children": [')
    for number, child in enumerate(children):
        sys.stdout.write(", " if number else "")
        _write_node(child, depth - 1, count)
    sys.stdout.write("]}")


def children_of(node: Node, count: NodeCount) -> tuple[list[Node], str]:
    """Return the children that may still be printed, and a message if further ones are damaged or beyond the limit."""
    children: list[Node] = []
    if count.left == 0:
        # Do not create nodes that will not be printed.
        return children, count.over if node.expandable else ""
    try:
        for child in node.children:
            if not count.take():
                return children, count.over
            children.append(child)
    except FormatError as error:
        return children, error_line(error)
    return children, ""


def node_json(node: Node) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": node.name,
        "span": node.span.to_json(),
        "value": json_values(node.value),
        "text": node.text,
        "role": node.role.name.lower(),
        "doc": node.doc,
        "error": node.error,
    }
    if node.bits is not None:
        found["bits"] = list(node.bits)
    if node.target is not None:
        found["target"] = node.target.to_json()
    if node.decoded:
        found["decoded"] = node.decoded
    return found


def object_json(ref: ObjectRef) -> dict[str, Any]:
    from shardcore.model.objects import State

    # No offsets for contents in other files or in decoded bytes: they would be misleading.
    place = next((span for span in ref.spans[:1] if span.source in ("", ref.shard)), None)
    found: dict[str, Any] = {
        "key": ref.key,
        "kind": ref.kind,
        "state": State(ref.state).name.lower(),
        "size": ref.size if ref.size >= 0 else None,
        "stored_size": ref.stored_size if ref.stored_size >= 0 else None,
        "start": place.start if place else None,
        "stop": place.stop if place else None,
        "codec": ref.codec,
        "shard": ref.shard,
    }
    if ref.key is None and "key_hex" in ref.extras:
        found["key_hex"] = ref.extras["key_hex"]
    if ref.error:
        found["error"] = ref.error
    return found


PROGRESS_AFTER = 0.5
"""Seconds before a progress bar appears."""


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """Show a progress bar on a terminal if an operation takes longer than `PROGRESS_AFTER`."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield no_progress
        return
    lock, ends = threading.Lock(), ExitStack()
    state: dict[str, Any] = {"completed": 0, "total": None}
    updates: list[Callable[..., None]] = []

    def show() -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn(title), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeRemainingColumn())
        # Results that are printed on the same terminal appear above the bar.
        above = sys.stdout is not None and sys.stdout.isatty()
        bar = Bar(*columns, console=Console(stderr=True), transient=True, redirect_stdout=above)
        with lock:
            if not timer.finished.is_set():
                ends.enter_context(bar)
                updates.append(partial(bar.update, bar.add_task(title, **state)))

    def progress(done: int, total: int) -> None:
        state.update(completed=done, total=max(total, 1))
        for update in updates:
            update(**state)

    timer = threading.Timer(PROGRESS_AFTER, show)
    timer.daemon = True
    timer.start()
    try:
        yield progress
    finally:
        with lock:
            timer.cancel()
            ends.close()


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """Target of a command's output: a local path, or a temporary folder whose files are uploaded.

    Attributes:
        path: Local path to write to.
        named: Function that returns a written path for display: the path itself, or its address.
        send: Function that uploads all written files; files that others refer to go first.
        delivery: Uploader of single files, for commands that write many; None for a local path.
    """

    path: str
    named: Callable[[str | Path], str] = str
    send: Callable[[], None] = lambda: None
    delivery: BucketFolder | None = None
