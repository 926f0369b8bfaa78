"""README and pages: their commands and code print the output shown; links and pictures exist."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import shardcore
from tests.installed import ROOT, environment, named_on, run_examples
from tests.test_words import literals

DOCS = ROOT / "docs"
IMAGES = DOCS / "images"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
MOST_BYTES = 4 << 20
"""Maximum bytes of all pictures together, since each clone of the repository contains them."""

_PICTURE = re.compile(r'(?:!\[[^]]*\]\(|(?:src|srcset)=")([^)"]+\.(?:png|svg|webp))')
_FENCE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^]]*\]\(([^)#:]*)(?:#([^)]*))?\)")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[str]:
    """Return the code blocks in one language on a page."""
    return [code for name, code in _FENCE.findall(text_of(page)) if name == language]


def examples(page: Path) -> Iterator[tuple[str, str]]:
    """Return commands and Python code of a page, in order, each with the output that the page shows."""
    fences = _FENCE.findall(text_of(page))
    for number, (name, code) in enumerate(fences):
        if name == "console":
            for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
                command, _, output = part.replace("\\\n", " ").partition("\n")
                yield f"$ {command}", output
        elif name == "python":
            follows = fences[number + 1] if number + 1 < len(fences) else ("", "")
            yield code, follows[1] if follows[0] == "text" else ""


def installed(name: str, folder: Path) -> dict[str, str]:
    """Return the environment variables of a process that can import only what a page tells the reader to install."""
    folder = folder / "installed"
    folder.mkdir()
    return environment(folder, *named_on(text_of(ROOT / name)))


def same(expected: str, shown: str) -> bool:
    """Return whether an output matches that on a page; `…` matches any text in a line, alone in a line any lines."""
    pattern = re.escape(expected.strip()).replace("\\\n…\\\n", r"\n(?:.*\n)*?").replace("…", ".*")
    return re.fullmatch(pattern, shown.strip()) is not None


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Writable folder with links to the resources and docs of the repository; it is the current folder."""
    for name in ("resources", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_picture_is_there_and_is_shown() -> None:
    """Each picture on a page exists, each picture in the repository is on a page, and their total size is limited."""
    shown = {(page.parent / name).resolve() for page in PAGES for name in _PICTURE.findall(text_of(page))}
    pictures = {*IMAGES.iterdir(), *(DOCS / "decisions" / "images").iterdir()}
    assert shown == pictures
    assert sum(path.stat().st_size for path in pictures) < MOST_BYTES


def test_every_picture_is_made() -> None:
    """`make pictures` creates exactly the pictures of the window in the docs."""
    from tests.pictures import PICTURES

    names = {f"{name}.webp" for name in PICTURES}
    assert names | {"tour.webp"} == {path.name for path in IMAGES.glob("*.webp")}


def anchors(page: Path) -> set[str]:
    return {
        re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-")
        for title in re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    }


def test_links_lead_somewhere() -> None:
    """Links refer to files of the repository, and to headings of these pages."""
    for page in PAGES:
        for name, anchor in _LINK.findall(re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)):
            target = page.parent / name if name else page
            assert target.exists(), f"{page.name}: {name}"
            assert not anchor or anchor in anchors(target), f"{page.name}: {name}#{anchor}"


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["README.md", "docs/first-steps.md", "docs/cookbook.md", "docs/troubleshooting.md"])
def test_pages_show_what_is_printed(name: str, clone: Path) -> None:
    """Commands and code of a page, run in order with the extras that it names, print what it shows."""
    found = list(examples(ROOT / name))
    # Commands of pip and make are not run.
    found = [one for one in found if not one[0].startswith("$ ") or one[0].startswith(("$ shardcore ", "$ cp "))]
    printed = run_examples(installed(name, clone), [code for code, _ in found], clone)
    for (code, output), (_, shown) in zip(found, printed, strict=True):
        assert same(output, shown), f"{code}\n{shown}"


def test_quoted_messages_exist() -> None:
    """Each message in a heading of the page is printed by a command on the page, or is a string in the program."""
    page = DOCS / "troubleshooting.md"
    printed = "\n".join(output for _, output in examples(page))
    sources = [text_of(path) for one in ("shardcore", "app") for path in (ROOT / one).rglob("*.py")]
    messages = re.findall(r"^### `(.*)`$", text_of(page), re.MULTILINE)
    assert len(messages) > 20
    for message in messages:
        pattern = re.compile(re.escape(message).replace("…", ".*"))
        longest = max(message.split("…"), key=len)
        said = (text for source in sources if longest in source for _, text in literals(source))
        assert pattern.search(printed) or any(pattern.search(text) for text in said), message


def test_every_page_is_in_the_navigation() -> None:
    """The navigation of the site names all existing pages except the decisions, and no others."""
    named = re.findall(r"^ +- (?:[\w ]+: )?([\w/-]+\.md)$", text_of(ROOT / "mkdocs.yml"), re.MULTILINE)
    pages = [page.relative_to(DOCS) for page in DOCS.rglob("*.md") if page.parent.name != "decisions"]
    assert sorted(named) == sorted(page.as_posix() for page in [*pages, Path("notebook.md")])


def test_the_reference_has_every_public_name() -> None:
    named = re.findall(r"^::: shardcore\.(\w+)$", text_of(DOCS / "reference.md"), re.MULTILINE)
    assert sorted(named) == sorted(shardcore.__all__)


def test_every_public_name_has_a_docstring() -> None:
    """Includes the public methods and properties that a public class defines itself."""
    bare = []
    for name in sorted(shardcore.__all__):
        found = getattr(shardcore, name)
        if not (inspect.isclass(found) or inspect.isfunction(found)):
            continue
        bare += [name] * (not found.__doc__)
        for member, value in vars(found).items() if inspect.isclass(found) else ():
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property | classmethod)):
                bare += [f"{name}.{member}"] * (not inspect.getdoc(getattr(found, member)))
    assert bare == []


def test_the_library_page_names_the_functions() -> None:
    """The page names every public function, and calls only existing ones."""
    page = text_of(DOCS / "library.md")
    named = set(re.findall(r"shardcore\.(\w+)\(", page))
    functions = {name for name in shardcore.__all__ if inspect.isfunction(getattr(shardcore, name))}
    assert functions - {"picture_of", "detect"} <= named | set(re.findall(r"`(\w+)`", page))
    assert named <= set(shardcore.__all__)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "part"),
    [
        pytest.param("library", "delete 1 object True", marks=pytest.mark.interop("pandas", "pyarrow")),
        pytest.param(
            "other-programs", "nm (11, 64, 64)", marks=pytest.mark.interop("dask", "fsspec", "xarray", "zarr")
        ),
        ("cluster", "5\n1\n1\n"),
    ],
)
def test_the_examples_of_pages_run(name: str, part: str, clone: Path) -> None:
    """The examples of a page run in order with the extras that it names; each prints or asserts something."""
    code = blocks(DOCS / f"{name}.md", "python")
    (clone / "page.py").write_text("\n".join(code), encoding="utf-8")
    command, variables = [sys.executable, "page.py"], installed(f"docs/{name}.md", clone)
    done = subprocess.run(command, cwd=clone, env=variables, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    assert part in done.stdout
    assert all("print(" in block or "assert " in block for block in code)


@pytest.mark.thorough
@pytest.mark.interop("mkdocs", "material", "mkdocstrings")
def test_the_site_is_complete_in_itself(tmp_path: Path) -> None:
    """The site is built without warnings, and its pages, styles and scripts load nothing from other servers."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True)
    used = re.compile(r"<(?:link|script|img|source|iframe)\b[^>]*?\b(?:src|href|srcset)=[\"']?(?:https?:)?//[^\s\"'>]+")
    for path in (path for ending in ("html", "css", "js") for path in tmp_path.rglob(f"*.{ending}")):
        text = text_of(path)
        fetched = used.findall(text) if path.suffix == ".html" else []
        fetched += re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)\s]+", text)
        fetched += re.findall(r"\b(?:fetch|importScripts|import)\([\"'](?:https?:)?//[^)]+", text)
        assert not fetched, f"{path.relative_to(tmp_path)}: {fetched[:3]}"
    assert (tmp_path / "search" / "search_index.js").exists()


@pytest.mark.thorough
def test_type_checkers_know_the_types_of_the_library() -> None:
    """The type checker reports errors for exactly the lines marked `# error` in the example."""
    page = ROOT / "tests" / "data" / "typed_calls.py"
    run = subprocess.run(
        [sys.executable, "-m", "mypy", str(page)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = {int(line) for line in re.findall(r"typed_calls\.py:(\d+): error:", run.stdout)}
    lines = page.read_text(encoding="utf-8").splitlines()
    assert found == {number for number, line in enumerate(lines, 1) if "# error" in line}, run.stdout + run.stderr
