"""The README and the pages say what is so: commands run, pictures are there and are made by `make screenshots`."""

from __future__ import annotations

import inspect
import re
import runpy
import shlex
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
IMAGES = DOCS / "images"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "formats").glob("*.md"))]
MOST_BYTES = 3 << 20
"""Of all pictures together: they are in every clone."""

_PICTURE = re.compile(r'(?:!\[[^]]*\]\(|(?:src|srcset)=")([^)"]+\.(?:png|svg))')
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
_PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^]]*\]\(([^)#:]+)(?:#[^)]*)?\)")


def pictures() -> dict[Path, list[Path]]:
    """The pictures that pages show, and the pages."""
    found: dict[Path, list[Path]] = {}
    for page in PAGES:
        for name in _PICTURE.findall(page.read_text(encoding="utf-8")):
            found.setdefault((page.parent / name).resolve(), []).append(page)
    return found


def test_every_picture_is_there_and_is_shown() -> None:
    """No page has a hole, and no picture lies in the tree that no page shows; together they stay small."""
    files = set(IMAGES.iterdir())
    assert set(pictures()) == files
    assert sum(path.stat().st_size for path in files) < MOST_BYTES


def test_every_picture_is_made() -> None:
    """`make screenshots` names each of them, or the script that it runs does."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    script = (ROOT / "tests" / "pictures.py").read_text(encoding="utf-8")
    drawn = set(re.findall(r"\$\(call draw,([\w-]+),", makefile))
    made = set(re.findall(r"docs/images/([\w-]+\.\w+)", makefile))
    made |= {f"{name}{dark}.svg" for name in drawn for dark in ("", "-dark")}
    made |= {f"{name}.png" for name in re.findall(r'\("(\w+)", \w+\)', script)}
    assert made == {path.name for path in IMAGES.iterdir()}


def test_pages_lead_somewhere() -> None:
    """Links to files of the tree name files that are there."""
    for page in PAGES:
        for name in _LINK.findall(page.read_text(encoding="utf-8")):
            assert name.startswith("field") or (page.parent / name).exists(), f"{page.name}: {name}"


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place that looks like a clone, in which files may be written."""
    for name in ("resources", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commands_of_the_readme_run(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each `shardcore` command ends well, one after the other, and says something; the network is not asked."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [line for block in _CONSOLE.findall(text) for line in block.splitlines() if line.startswith("$ shardcore ")]
    assert len(lines) > 10
    for line in lines:
        words = shlex.split(line[2:], comments=True)[1:]
        if any("://" in word for word in words):
            continue
        if ">" in words:
            words = words[: words.index(">")]
        assert run(words) == 0, line
        assert capsys.readouterr().out or {"--svg", "--png"} & set(words), line


def test_the_examples_of_the_library_run(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The examples of the page run one after the other, and each prints something or asserts it."""
    blocks = _PYTHON.findall((DOCS / "library.md").read_text(encoding="utf-8"))
    assert len(blocks) >= 10
    (clone / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path(str(clone / "page.py"))
    told = capsys.readouterr().out
    assert "delete 1 object True" in told
    assert (clone / "out" / "manifest.json").exists()
    assert all("print(" in block or "assert " in block for block in blocks)


@pytest.mark.interop("dask", "fsspec", "pandas", "xarray", "zarr")
def test_the_examples_for_other_programs_run(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The examples with pandas, fsspec, zarr and xarray run one after the other; each prints or asserts something."""
    import dask
    import fsspec

    from shardcore.fsspec import ShardFileSystem

    blocks = _PYTHON.findall((DOCS / "doors.md").read_text(encoding="utf-8"))
    (clone / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    fsspec.register_implementation("shard", ShardFileSystem, clobber=True)
    with dask.config.set(scheduler="synchronous"):
        runpy.run_path(str(clone / "page.py"))
    ShardFileSystem.clear_instance_cache()
    assert "nm (11, 64, 64)" in capsys.readouterr().out
    assert all("print(" in block or "assert " in block for block in blocks)


def test_the_library_page_names_what_is_public() -> None:
    """Every public function stands on the page, and what the page calls is there."""
    page = (DOCS / "library.md").read_text(encoding="utf-8")
    named = set(re.findall(r"shardcore\.(\w+)\(", page))
    functions = {name for name in shardcore.__all__ if inspect.isfunction(getattr(shardcore, name))}
    assert functions - {"picture_of", "detect"} <= named | set(re.findall(r"`(\w+)`", page))
    assert named <= set(shardcore.__all__)


def test_the_library_lines_of_the_readme_run(clone: Path) -> None:
    """They read a sample and write a shard."""
    (code,) = _PYTHON.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    (clone / "lines.py").write_text(code, encoding="utf-8")
    runpy.run_path(str(clone / "lines.py"))
    assert (clone / "new.shard").stat().st_size > 0
