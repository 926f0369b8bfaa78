"""Results as HTML for notebooks.

The HTML has inline styles, and neither scripts nor external resources. Text from files is escaped and truncated.
Nothing is fetched from another machine: where bytes would have to be fetched, the HTML shows an error message.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import singledispatch
from html import escape
from itertools import islice
from zlib import crc32

from shardcore.errors import ShardError
from shardcore.model.details import headline
from shardcore.model.drawing import Drawing
from shardcore.model.finding import Report
from shardcore.model.node import Node
from shardcore.model.objects import ObjectRef, Objects, ObjectSlice, Rows, as_array
from shardcore.model.text import long_size, plural, range_text, said, shown
from shardcore.operations.content.base import Content, PictureBlock, TableBlock, TextBlock
from shardcore.operations.diff import ShardDiff
from shardcore.operations.diff_columns import DiffKind
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard
from shardcore.shards.trace import Step, Trace
from shardcore.sources.base import at_most
from shardcore.sources.remote.address import shown_address
from shardcore.teaching.drawing.svg import picture_of, with_ids

ROWS = 10
"""Maximum number of rows in a table of objects."""

LINES = 20
"""Maximum number of items in other lists."""

LETTERS = 160
"""Maximum number of characters in a table cell."""

TEXT = 4000
"""Maximum number of characters in a longer text."""

NODES = 200

DEEP = 3

SENTENCE = 40
"""Maximum length of a cell that is not wrapped. Text without spaces, such as a key, is never wrapped."""

DRAWN = 1 << 18
"""Maximum characters of the SVG drawings of one lookup."""

# No text or background colours: the theme of the notebook applies, light or dark.
_FRAME = "max-width:60em;overflow-x:auto"
# Replaces styles of notebooks, which break words. A table that is too wide scrolls.
_CELL = "text-align:left;vertical-align:top;padding:0 1em 0 0;overflow-wrap:normal;word-break:normal;white-space:"
_MUTED = "opacity:.7"
_BAD = "color:#d9363e"
_PRE = "margin:.3em 0;padding:.4em .6em;overflow-x:auto;border-left:3px solid rgba(128,128,128,.5)"


def html(result: object) -> str:
    with at_most(0):
        return f'<div style="{_FRAME}">{"".join(parts(result))}</div>'


@singledispatch
def parts(result: object) -> Iterator[str]:
    yield f"<code>{_text(result)}</code>"


# --- shards and objects ---


@parts.register
def _(shard: Shard) -> Iterator[str]:
    yield _head(shard.format, shard.version, _try(lambda: _name_of(shard)))
    yield _table(_facts(shard))
    if shard.damage is not None:
        yield _line(shard.damage.placed, _BAD)
    sections = shard.sections if shard.source is not None else ()
    rows = ((one.name, range_text(one.start, one.stop)) for one in sections)
    yield from _list(rows, len(sections), "section", ("section", "bytes"))
    if shard.listing is not None:
        yield from _objects(shard.listing, range(len(shard.listing)), 5)


def _name_of(shard: Shard) -> str:
    where = shard.uri if isinstance(shard, DataSet) else shard.source.name if shard.source is not None else ""
    return shown_address(where)


def _facts(shard: Shard) -> Iterator[tuple[str, str]]:
    if shard.why:
        yield "recognised", shard.why
    if isinstance(shard, DataSet):
        yield "shards", _try(lambda: f"{len(shard.members):,}")
    elif shard.source is not None:
        source = shard.source
        yield "size", _try(lambda: long_size(source.size))
    count = _try(lambda: "not counted yet" if shard.declared_objects is None else f"{shard.declared_objects:,}")
    yield "objects", count


@parts.register(Objects)
@parts.register(ObjectSlice)
def _(found: Objects | ObjectSlice) -> Iterator[str]:
    objects = found.objects if isinstance(found, ObjectSlice) else found
    if not objects.counted:
        yield _line("Objects: the index is not read yet (load_index)")
        return
    yield from _objects(objects, found.rows if isinstance(found, ObjectSlice) else range(len(objects)), ROWS)


def _objects(objects: Objects, rows: Rows, most: int) -> Iterator[str]:
    yield _line(plural(len(rows), "row"))
    lines, note = [], ""
    for row in as_array(rows[:most]).tolist():
        try:
            ref = objects.ref(row)
        except (ShardError, IndexError) as error:
            note = f"not shown: {error}"
            break
        sizes = (f"{size:,}" if size >= 0 else "–" for size in (ref.size, ref.stored_size))
        place = str(ref.spans[0]) if ref.spans else "–"
        key = ref.key if ref.key is not None else "–"
        lines.append((str(row), key, ref.kind, ref.state.name.lower(), *sizes, place, ref.codec, ref.error))
    heads = ("row", "key", "kind", "state", "size", "stored", "bytes", "codec", "")
    yield _table(lines, heads) if lines else ""
    yield _line(note, _MUTED) if note else _more(len(rows), most, "row")


@parts.register
def _(ref: ObjectRef) -> Iterator[str]:
    yield _head(ref.kind, ref.key or "–")
    details = {"state": ref.state.name.lower(), "row": ref.row, "size": ref.size, "stored size": ref.stored_size}
    details |= {"bytes": ", ".join(map(str, ref.spans[:LINES])), "codec": ref.codec, "shard": ref.shard}
    details |= dict(islice(ref.extras.items(), LINES)) | {"error": ref.error}
    yield _table([(name, said(value)) for name, value in details.items() if value not in ("", -1)])


# --- trees ---


@parts.register
def _(node: Node) -> Iterator[str]:
    yield from _tree(node, iter(range(NODES)), 0)


def _tree(node: Node, left: Iterator[int], depth: int) -> Iterator[str]:
    value = said(headline(node)) if node.value is not None or node.text else ""
    label = f"<b>{_text(node.name)}</b> <code>{_text(node.span)}</code> {_text(value)}"
    label += f' <span style="{_BAD}">{_text(node.error)}</span>' if node.error else ""
    label += f' <span style="{_MUTED}">{_text(node.doc)}</span>' if node.doc and not depth else ""
    kids: Sequence[Node] = ()
    note = ""
    try:
        if depth < DEEP and len(node.children):
            kids = node.children[:LINES]
            note = _more(len(node.children), LINES, "node")
        elif node.expandable:
            note = _line("…", _MUTED)
    except ShardError as error:
        note = _line(str(error), _MUTED)
    if not kids and not note:
        yield f"<div>{label}</div>"
        return
    yield f"<details{' open' if not depth else ''}><summary>{label}</summary><div style='margin-left:1.2em'>"
    for kid in kids:
        if next(left, None) is None:
            yield _line("…", _MUTED)
            break
        yield from _tree(kid, left, depth + 1)
    yield f"{note}</div></details>"


# --- lookups ---


@parts.register
def _(trace: Trace) -> Iterator[str]:
    yield _head("lookup", trace.ending, trace.key)
    drawn = 0
    yield "<ol style='margin:0'>"
    for step in trace.steps[:LINES]:
        cost = f" [{plural(step.requests, 'range')}, {plural(step.bytes, 'byte')}]" if step.requests else ""
        label = f"<b>{_text(step.title)}</b>: {_text(step.text, TEXT)}<span style='{_MUTED}'>{cost}</span>"
        inner = "".join(_step(step))
        drawn += len(inner)
        yield f"<li><details><summary>{label}</summary>{inner if drawn < DRAWN else ''}</details></li>"
    yield f"</ol>{_more(len(trace.steps), LINES, 'step')}"
    yield _line(trace.error, _BAD) if trace.error else ""


@parts.register
def _(step: Step) -> Iterator[str]:
    yield f"<div><b>{_text(step.title)}</b>: {_text(step.text, TEXT)}</div>"
    yield from _step(step)


def _step(step: Step) -> Iterator[str]:
    yield _line(step.why, _MUTED) if step.why else ""
    yield _line("bytes " + ", ".join(map(str, step.spans[:LINES]))) if step.spans else ""
    if step.drawing is not None:
        yield from parts(step.drawing)
    else:
        yield _table([(name, said(value)) for name, value in islice(step.values.items(), LINES)])


@parts.register
def _(drawing: Drawing) -> Iterator[str]:
    text = str(picture_of(drawing))
    # Unique ids: browsers do not paint patterns that are defined in a folded drawing.
    yield f"<div>{with_ids(text, f'd{crc32(text.encode()):08x}-')}</div>" if len(text) < DRAWN else ""


# --- reports ---


@parts.register
def _(report: Report) -> Iterator[str]:
    yield _line(report.summary, "" if report.ok else _BAD)
    found = report.findings
    rows = ((one.severity.value, one.code, str(one.span or "–"), one.message, one.key or "") for one in found)
    yield from _list(rows, len(found), "finding", ("severity", "code", "bytes", "finding", "key"))


@parts.register
def _(found: ShardDiff) -> Iterator[str]:
    yield _line(f"{'Equal' if found.equal else 'Different'}; compared: {found.compared.value}")
    counts = [(kind.value, f"{found.counts[kind]:,}", f"{found.sizes.get(kind, 0):,}") for kind in found.counts]
    yield _table([row for row in counts if row[1] != "0"], ("objects", "count", "bytes"))
    fields = ((name, said(one), said(other)) for name, one, other in found.fields)
    yield from _list(fields, len(found.fields), "field", ("field", "first", "second"))
    members = [one for one in found.shards if one.change is not DiffKind.EQUAL]
    rows = ((one.name, one.change.value, said(one.first), said(one.second), one.why) for one in members)
    yield from _list(rows, len(members), "shard", ("shard", "change", "first", "second", ""))


# --- contents ---


@parts.register
def _(found: Content) -> Iterator[str]:
    yield _head(found.title, plural(found.size, "byte") if found.size >= 0 else "unknown size")
    yield _line(found.note, _MUTED) if found.note else ""
    try:
        for block in found.blocks():
            if isinstance(block, PictureBlock):
                yield _image(block.data, block.format, found.title, block.width)
            else:
                yield from parts(block)
    except (ShardError, ImportError) as error:
        yield _line(str(error), _MUTED)


@parts.register
def _(block: TextBlock) -> Iterator[str]:
    code = f'<pre style="{_PRE}">{escape(block.text)}</pre>'
    yield code if block.code else _line(block.text, _MUTED if block.faint else "")


@parts.register
def _(block: TableBlock) -> Iterator[str]:
    yield _table(block.rows, block.heads)
    yield _more(block.total, block.most, block.noun)


# --- elements ---


def _text(value: object, most: int = LETTERS) -> str:
    text = str(value)[: most + 1]
    return escape(shown(text[:most] + "…" if len(text) > most else text))


def _try(fact: Callable[[], str]) -> str:
    try:
        return fact()
    except ShardError as error:
        return str(error)


def _head(*words: str) -> str:
    first, *rest = (word for word in words if word)
    return f"<div><b>{_text(first)}</b> {' · '.join(map(_text, rest))}</div>"


def _line(text: str, style: str = "") -> str:
    return f'<div style="{style}">{_text(text, TEXT)}</div>'


def _more(count: int, most: int, noun: str) -> str:
    return _line(f"… and {plural(count - most, f'more {noun}')}", _MUTED) if count > most else ""


def _list(rows: Iterable[Sequence[str]], count: int, noun: str, heads: Sequence[str]) -> Iterator[str]:
    """Yield a table of the first `LINES` of `count` rows, and the number of further rows; nothing if there are none."""
    first = list(islice(rows, LINES))
    yield _table(first, heads) if first else ""
    yield _more(count, LINES, noun)


def _table(rows: Sequence[Sequence[str]] | Iterator[tuple[str, str]], heads: Sequence[str] = ()) -> str:
    top = "".join(_cell("th", head) for head in heads)
    body = "".join(f"<tr>{''.join(_cell('td', cell) for cell in row)}</tr>" for row in rows)
    return f"<table>{f'<tr>{top}</tr>' if heads else ''}{body}</table>"


def _cell(tag: str, value: str) -> str:
    wrapped = len(value) > SENTENCE and " " in value
    return f'<{tag} style="{_CELL}{"pre-wrap;min-width:20em" if wrapped else "pre"}">{_text(value)}</{tag}>'


def _image(data: bytes, kind: str, title: str, width: int = 0) -> str:
    address = f"data:image/{kind};base64,{b64encode(data).decode()}"
    size = f"width:{width}px;image-rendering:pixelated" if width else "max-width:100%;height:auto"
    return f'<img src="{address}" alt="{_text(title)}" style="display:block;{size}"/>'
