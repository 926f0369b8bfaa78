"""A lesson as an HTML page: complete in one file, escaped, with nothing that runs or is loaded."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shardcore.teaching import resource_paths
from shardcore.teaching.lessons.html_page import answer_of, lesson_page, lesson_stages
from shardcore.teaching.lessons.lesson import Answer, Lesson, Show
from shardcore.teaching.lessons.lesson_list import lessons, missions, read_lesson
from shardcore.testing import FULL

EMPTY = {"meta", "br", "hr", "img"}


class Page(HTMLParser):
    """Elements of a page, each closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element, which stays open until its end."""
        self.found.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that ends at once."""
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Only the element that was opened last ends."""
        assert self.open.pop() == tag

    def count(self, tag: str) -> int:
        """Number of elements of a kind."""
        return sum(one == tag for one, _ in self.found)


def check(lesson: Lesson) -> str:
    """A page is well formed, needs nothing, and has every step, question, answer and drawing."""
    text = lesson_page(lesson)
    page = Page(text)
    stages = list(lesson_stages(lesson))
    asking = [stage for stage in stages if stage.question is not None]
    assert "Left out" not in text, lesson.name
    assert page.count("h1") == 1
    ids = [str(attributes["id"]) for _, attributes in page.found if "id" in attributes]
    assert len(ids) == len(set(ids)), "an id is unique in a page"
    assert set(re.findall(r"url\(#([\w-]+)\)", text)) <= set(ids)
    assert page.count("h2") == len(stages)
    assert text.count("<summary>Answer</summary>") == len(asking)
    assert page.count("details") == sum(1 + len(stage.question.hints) for stage in asking if stage.question)
    drawings = [one for stage in stages for one in (*stage.shown, *stage.revealed) if one.kind is Show.DRAWING]
    assert page.count("svg") == 2 * sum(bool(one.name) for one in drawings)
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(svg)
    loaded = {"script", "iframe", "object", "embed", "link", "base", "form"}
    assert not loaded & {tag for tag, _ in page.found}
    for tag, facts in page.found:
        assert not any(name.startswith("on") for name in facts), (tag, facts)
        assert not (facts.get("src") or "").startswith(("http", "/", "file"))
    assert "prefers-color-scheme: dark" in text
    assert "\u200b" not in text
    return text


def by_name(name: str) -> Lesson:
    """The lesson of that name."""
    return next(one for one in lessons() if one.name == name)


@pytest.mark.parametrize("name", ["swh-2-find-a-key", *(["all"] if FULL else [])])
def test_every_lesson_is_a_page(name: str) -> None:
    """Each lesson and mission, on its sample and on fresh files that are the same each time."""
    every = (*lessons(), *missions())
    for lesson in [one for one in every if name in (one.name, "all")]:
        text = check(lesson)
        assert name == "all" or lesson_page(lesson) == text


def test_answers_are_those_of_the_lesson() -> None:
    """Solutions are computed, with the kind of answer; they are folded."""
    lesson = by_name("swh-2-find-a-key")
    found = {stage.step.title: (stage.question, answer_of(stage)) for stage in lesson_stages(lesson)}
    told = {title: answer.answer for title, (_, answer) in found.items() if answer is not None}
    assert told["Until all keys fit"] == "55"
    assert told["Jumps and single slots"] == "slot 4"
    kinds = {question.kind for question, _ in found.values() if question is not None}
    assert kinds == {Answer.NUMBER, Answer.CHOICE, Answer.ITEM}
    assert lesson_page(lesson).count("<details>") > 0


def test_a_page_draws_the_step_that_it_names() -> None:
    """A drawing that comes with an answer is that of the step revealed with it, and names of files are as they are."""
    text = lesson_page(by_name("des-3-by-hand"))
    named = re.findall(r">Lookup, step \d+, ([^:<]+): .*?<figcaption>([^<]*)<", text, re.DOTALL)
    assert named == [("Walk", "The walk"), ("Payload", "Payload"), ("Payload", "Payload")]
    assert re.search(r" of 20260105_2A_0000\.des · \d+ bytes?</p>", text)
    assert "\\_" not in text
    titles = re.findall(r"<figcaption>(.*?)</figcaption>", lesson_page(by_name("swh-3-by-hand")))
    assert titles[:2] == ["hash function", "With d = 0 the key a1d4… would be in slot 12"]
    part = lesson_page(by_name("mdb-3-by-hand")).split("<h2>")[6]
    assert "0x0–0x7 of xorb:da066dd9" in part
    assert "<figcaption>Open the xorb</figcaption>" in part


def test_nothing_of_a_text_becomes_part_of_the_page(tmp_path: Path) -> None:
    """Markup is text; links to scripts are none; pictures beside the lesson are in the page, others are their words."""
    path = tmp_path / "evil.md"
    (tmp_path / "other.md").write_text("# O\n\n## S\n")
    (tmp_path / "it.png").write_bytes(b"\x89PNG")
    path.write_text(
        "# <script>x</script> & \nabout: <b>bold</b>\nsample: swh/small.shard\n\n## <i>step</i>\n\n"
        "<img src=https://a/b.png onerror=x> [x](javascript:alert(1)) [other](other.md#s) [web](https://a/)\n\n"
        "![here](it.png) ![far](https://a/b.png) ![up](../../etc/x.png)\n\n"
        "- ask: <script>?\n- choice right: <u>a</u>\n- choice wrong: b | no\n"
    )
    text = lesson_page(read_lesson(path))
    page = Page(text)
    tags = {tag for tag, _ in page.found}
    assert not tags & {"script", "b", "i", "u"}
    links = [facts.get("href") for tag, facts in page.found if tag == "a" and "download" not in facts]
    assert links == ["other.html#s", "https://a/"]
    (picture,) = (facts["src"] for tag, facts in page.found if tag == "img")
    assert picture.startswith("data:image/png;base64,")
    assert "far" in text
    assert "Content-Security-Policy" in text


def test_a_page_has_the_bytes_that_it_asks_for() -> None:
    """Sample and fresh file can be saved; what a step of the lookup reads is printed, but for what is asked."""
    text = lesson_page(by_name("swh-2-find-a-key"))
    files = re.findall(r'<a download="([\w.]+)" href="data:application/octet-stream;base64,([^"]+)"', text)
    assert [name for name, _ in files] == ["small.shard", "fresh.shard"]
    assert (
        base64.b64decode(files[0][1]) == (resource_paths.resources() / "samples" / "swh" / "small.shard").read_bytes()
    )
    parts = {part.partition("</h2>")[0]: part for part in text.split("<h2>")}
    assert "0x1171–0x1198 · 40 bytes</p>" in parts["The key in the slot"]
    assert "</pre>" not in parts["Until all keys fit"]
