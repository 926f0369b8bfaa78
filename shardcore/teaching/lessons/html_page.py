"""Lessons as self-contained HTML pages: text, drawings, bytes and questions."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from html import escape
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from shardcore.dataclasses import dataclass
from shardcore.errors import ShardError
from shardcore.model.drawing import before_stages
from shardcore.model.span import Span
from shardcore.model.text import hex_rows, plural, range_text, shown
from shardcore.progress import check_stopped
from shardcore.shards.opening import open as open_shard
from shardcore.shards.shard import Shard
from shardcore.teaching import resource_paths
from shardcore.teaching.drawing.svg import picture_of, with_ids
from shardcore.teaching.lessons.answers import solution
from shardcore.teaching.lessons.lesson import Answer, Lesson, Show
from shardcore.teaching.lessons.lesson_list import beside, lessons, sample_key
from shardcore.teaching.lessons.lesson_step import LessonStage, StepTarget, drawn, fresh_file, staged
from shardcore.teaching.lessons.placeholders import escaped

SEED = 1
"""Seed of new files, so that the same lesson always gives the same page."""

_SPANS = 4
_MOST_FILE = 1 << 18
_MOST_BYTES = 16 * 8
_MOST_PICTURE = 1 << 20
_DRAWING = re.compile(r"<svg.*?</svg>", re.DOTALL)
_WIDTH = 720

_STYLE = """
:root { color-scheme: light dark; --text: #1b1e24; --muted: #5a616d; --ground: #fff; --raised: #f1f3f7;
  --border: #c8ced8; --accent: #1f5fbf; }
body { margin: 0 auto; max-width: 46rem; padding: 1.5rem 1rem 4rem; font: 1.05rem/1.55 system-ui, sans-serif;
  color: var(--text); background: var(--ground); }
h1, h2 { line-height: 1.25; } h2 { margin-top: 2.5rem; }
code, pre { font: 0.92em/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
code { overflow-wrap: anywhere; } pre { overflow-x: auto; padding: 0.6rem 0.8rem; background: var(--raised); }
table { border-collapse: collapse; } th, td { border: 1px solid var(--border); padding: 0.2rem 0.6rem; }
a { color: var(--accent); } .muted { color: var(--muted); }
figure { margin: 1rem 0; } figure svg, img { max-width: 100%; height: auto; } figcaption { color: var(--muted); }
.question { border: 1px solid var(--border); border-left: 4px solid var(--accent); border-radius: 4px;
  padding: 0.3rem 1rem 0.6rem; background: var(--raised); }
.question details { margin: 0.4rem 0; } summary { cursor: pointer; color: var(--accent); }
.dark { display: none; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e7ec; --muted: #a0a7b4; --ground: #1d1f23; --raised: #272a30; --border: #454b57;
    --accent: #7fb0ff; }
  .light { display: none; } .dark { display: block; }
}
@media print { .light { display: block; } .dark { display: none; } }
"""


@dataclass(frozen=True, slots=True)
class PageAnswer:
    answer: str
    why: str


def lesson_page(lesson: Lesson) -> str:
    """Return a lesson as a self-contained HTML page with collapsed answers; its new files are always the same."""
    numbers = count()
    # All drawings have the same pattern ids, but an id must be unique in a page.
    return _DRAWING.sub(lambda found: with_ids(found[0], f"drawing{next(numbers)}-"), "".join(_page(lesson)))


def lesson_stages(lesson: Lesson, seed: int = SEED) -> Iterator[LessonStage]:
    """Yield the steps, each with its sample or new file open; all files are closed when the iterator ends."""
    random = Random(seed)
    with ExitStack() as files, TemporaryDirectory(prefix="shardcore-") as folder:
        place: Path | None = resource_paths.resources() / "samples" / lesson.sample if lesson.sample else None
        shard, key = None, sample_key(lesson)
        for number, step in enumerate(lesson.steps):
            check_stopped()
            if step.fresh is not None:
                made, key = fresh_file(lesson, number, step.fresh, Path(folder), random)
                shard = files.enter_context(open_shard(made))
            elif shard is None and place is not None:
                shard = files.enter_context(open_shard(place, partial=True))
            if shard is not None:
                yield staged(lesson, number, shard, key)


def answer_of(stage: LessonStage) -> PageAnswer | None:
    question, scene = stage.question, stage.scene
    if question is None:
        return None
    why = scene.prose(question.right)
    if question.kind is Answer.MENDED:
        return PageAnswer("The file is repaired in the sandbox.", why)
    given = solution(question, scene)
    if question.kind is Answer.CHOICE:
        return PageAnswer(question.choices[int(given.text)].text, why)
    if question.kind is Answer.NODE and given.span is not None:
        answer, place = scene.fill(question.answer), _place(given.span, escaped)
        names = () if ".." in answer else [node.name for node in scene.node(answer)[1:]]
        return PageAnswer(f"{escaped(' / '.join(names))}: {place}" if names else place, why)
    if question.kind is Answer.NUMBER and given.text.isdecimal():
        return PageAnswer(f"{int(given.text):,}", why)
    return PageAnswer(escaped(given.text), why)


# --- the page ---


def _page(lesson: Lesson) -> Iterator[str]:
    title = escape(shown(lesson.title))
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    # The policy prevents browsers from running or loading anything in a lesson.
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    yield f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    yield f"<p>{escape(shown(lesson.about))}</p>\n" if lesson.about else ""
    known = {one.name: one.title for one in lessons()}
    after = "".join(f" · after: {escape(shown(known.get(need, need)))}" for need in lesson.needs)
    yield f'<p class="muted">{plural(len(lesson.steps), "step")} · {lesson.minutes} min{after}</p>\n'
    shard: Shard | None = None
    for stage in lesson_stages(lesson):
        yield f'<section id="step-{stage.number + 1}">\n<h2>{escape(shown(stage.step.title))}</h2>\n'
        if stage.scene.shard is not shard:
            shard = stage.scene.shard
            yield from _file(shard)
        if stage.missing:
            yield f'<p class="muted">Left out: {escape(shown(stage.missing))}.</p>\n'
        else:
            yield from _stage_parts(stage, lesson)
        yield "</section>\n"
    yield "</body>\n</html>\n"


def _file(shard: Shard) -> Iterator[str]:
    source = shard.source
    if source is None or not Path(source.uri).is_file() or source.size > _MOST_FILE:
        return  # a data set
    try:
        data = base64.b64encode(source.read(0, source.size)).decode()
    except ShardError:
        return
    name, size = escape(shown(Path(source.uri).name)), plural(source.size, "byte")
    address = f"data:application/octet-stream;base64,{data}"
    yield f'<p class="muted">The file: <a download="{name}" href="{address}">{name}</a>, {size}</p>\n'


def _stage_parts(stage: LessonStage, lesson: Lesson) -> Iterator[str]:
    question, found = stage.question, answer_of(stage)
    yield _html(stage.text, lesson)
    yield from _shown(stage, stage.shown, hides=question is not None)
    if question is None or found is None:
        return
    yield f'<div class="question">\n{_html(question.prompt, lesson)}'
    if question.choices:
        items = (f"<li>{_html(choice.text, lesson)}</li>\n" for choice in question.choices)
        yield f"<ul>\n{''.join(items)}</ul>\n"
    for number, hint in enumerate(question.hints, 1):
        yield f"<details><summary>Hint {number}</summary>\n{_html(hint, lesson)}</details>\n"
    yield f"<details><summary>Answer</summary>\n{_html(found.answer, lesson)}{_html(found.why, lesson)}"
    yield from _shown(stage, stage.revealed)
    yield "</details>\n</div>\n"


def _shown(stage: LessonStage, targets: Sequence[StepTarget], *, hides: bool = False) -> Iterator[str]:
    """Yield lookup steps, drawings and bytes as HTML; `hides` omits texts and stages that would show the answer."""
    for target in targets:
        if target.kind is Show.STEP and stage.scene.trace is not None:
            step = stage.scene.trace.steps[target.step]
            text = "" if hides else f": {step.text}"
            words = escape(shown(f"Lookup, step {target.step + 1}, {step.title}{text}"))
            yield f'<p class="muted">{words}</p>\n'
            for span in step.spans[:_SPANS]:
                yield from _bytes(stage, StepTarget(Show.BYTES, span=span))
        elif target.kind is Show.DRAWING and target.name:
            drawing = drawn(target, stage.scene)
            drawing = before_stages(drawing) if hides else drawing
            yield "<figure>\n"
            for dark in (False, True):
                svg = str(picture_of(drawing, _WIDTH, dark=dark))
                yield f'<div class="{"dark" if dark else "light"}">{svg[svg.index("<svg") :]}</div>\n'
            yield f"<figcaption>{escape(shown(drawing.title))}</figcaption>\n</figure>\n"
        elif target.span is not None:
            yield from _bytes(stage, target)


def _bytes(stage: LessonStage, target: StepTarget) -> Iterator[str]:
    span = target.span
    if span is None or not span.size:
        return
    stop = min(span.stop, span.start + _MOST_BYTES)
    try:
        data = stage.scene.shard.bytes_of(span.source).read(span.start, stop)
    except ShardError:
        return
    name = " / ".join(node.name for node in target.path[1:])
    title = escape(shown(f"{name}: {_place(span)}" if name else _place(span)))
    yield f'<p class="muted">{title}</p>\n<pre>'
    yield from (f"{escape(row)}\n" for row in hex_rows(data, span.start, digits=10))
    yield "</pre>\n" if stop == span.stop else f'</pre>\n<p class="muted">… of {plural(span.size, "byte")}</p>\n'


def _place(span: Span, said: Callable[[str], str] = str) -> str:
    return range_text(span.start, span.stop, said(span.source))


# --- Markdown ---


def _html(text: str, lesson: Lesson) -> str:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    for token in tokens:
        if token.children:
            token.children = [_local(child, lesson) for child in token.children]
    return str(markdown.renderer.render(tokens, markdown.options, {}))


def _local(token: Token, lesson: Lesson) -> Token:
    """Keep links to lessons; embed images from the lesson's folder; replace other links and images by their text."""
    if token.type == "link_open":
        address = str(token.attrs.get("href", ""))
        path, _, part = address.partition("#")
        if not urlsplit(address).scheme and path.endswith(".md") and beside(lesson, unquote(path)) is not None:
            token.attrs["href"] = path.removesuffix(".md") + ".html" + (f"#{part}" if part else "")
        token.attrs["rel"] = "noreferrer"
    elif token.type == "image":
        found = beside(lesson, unquote(str(token.attrs.get("src", ""))))
        kind = mimetypes.guess_type(found.name)[0] if found is not None else None
        if found is None or kind is None or not kind.startswith("image/") or found.stat().st_size > _MOST_PICTURE:
            return Token("text", "", 0, content=token.content)
        token.attrs["src"] = f"data:{kind};base64,{base64.b64encode(found.read_bytes()).decode()}"
    return token
