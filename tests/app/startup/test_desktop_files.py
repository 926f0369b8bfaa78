"""Files for desktops: the entry, the icons, and the types of files that a double click opens."""

from __future__ import annotations

import configparser
import os
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtGui import QImage

from shardcore.teaching import resource_paths
from shardscope.__main__ import main
from shardscope.startup import desktop_files
from shardscope.startup.single_instance import split_link

TYPES = {
    "swh/small.shard": "application/x-swh-shard",
    "mdb/cache": "application/x-xet-shard",
    "xorb/chunks.xorb": "application/x-xet-xorb",
    "bloscpack/array.blp": "application/x-bloscpack",
    "des/contents.des": "application/x-des-shard",
    "neuroglancer/mesh": None,
}
ACCESS = b"\x00\x01\x00\x00Standard Jet DB\x00"
NAMESPACE = "{http://www.freedesktop.org/standards/shared-mime-info}"
OTHERS = f"""<mime-info xmlns="{NAMESPACE[1:-1]}"><mime-type type="application/vnd.ms-access">
<magic><match type="string" offset="0" value="\\x00\\x01\\x00\\x00Standard Jet DB"/></magic><glob pattern="*.mdb"/>
</mime-type></mime-info>"""
"""An excerpt of the types that every desktop has."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / 'data "100%" $HOME\\`'
    monkeypatch.setenv("XDG_DATA_HOME", str(made))
    return made


@pytest.fixture
def samples(tmp_path: Path) -> dict[Path, str | None]:
    found: dict[Path, str | None] = {}
    for name, kind in TYPES.items():
        path = resource_paths.path("samples.json").parent / "samples" / name
        found[next(path.glob("*.mdb"), path / "0.shard") if path.is_dir() else path] = kind
    (bare := tmp_path / "bare").write_bytes(next(iter(found)).read_bytes())
    (access := tmp_path / "addresses.mdb").write_bytes(ACCESS + bytes(200))
    return found | {bare: "application/x-swh-shard", access: "application/vnd.ms-access"}


def entry_of(folder: Path) -> configparser.SectionProxy:
    desktop = configparser.RawConfigParser()
    desktop.optionxform = str  # type: ignore[method-assign,assignment]
    desktop.read(folder / desktop_files.ENTRY)
    return desktop["Desktop Entry"]


def type_of(path: Path, *texts: str) -> str | None:
    kinds = [kind for text in texts for kind in ElementTree.fromstring(text).iter(f"{NAMESPACE}mime-type")]
    globs = [(kind, one) for kind in kinds for one in kind.iter(f"{NAMESPACE}glob")]
    hits = [(int(one.get("weight", 50)), kind) for kind, one in globs if fnmatch(path.name, one.attrib["pattern"])]
    named = {kind.attrib["type"] for weight, kind in hits if weight == max(hits, key=lambda hit: hit[0])[0]}
    if len(named) == 1:
        return named.pop()
    for kind in kinds:
        for match in kind.iter(f"{NAMESPACE}match"):
            magic = match.attrib["value"].encode().decode("unicode_escape").encode("latin-1")
            if path.read_bytes()[int(match.attrib["offset"]) :].startswith(magic):
                return kind.attrib["type"]
    return None


def test_files_are_recognised_by_what_they_are(folder: Path, samples: dict[Path, str | None]) -> None:
    list(desktop_files.install(["shardscope"], folder))
    types = (folder / desktop_files.TYPES).read_text("utf-8")
    assert {path.name: type_of(path, types, OTHERS) for path in samples} == {p.name: k for p, k in samples.items()}
    declared = {kind.attrib["type"] for kind in ElementTree.fromstring(types).iter(f"{NAMESPACE}mime-type")}
    assert set(entry_of(folder)["MimeType"].rstrip(";").split(";")) == declared
    if shutil.which("gio") and shutil.which("update-mime-database"):
        found = {path.name: gio_type(path) for path in samples}
        assert found == {path.name: kind or "application/octet-stream" for path, kind in samples.items()}


def gio_type(path: Path) -> str:
    command = ["gio", "info", "-a", "standard::content-type", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()[-1]


def test_a_double_click_starts_the_program(folder: Path, tmp_path: Path) -> None:
    program = tmp_path / 'my "own" $tools\\`' / "shardscope"
    program.parent.mkdir()
    list(desktop_files.install([str(program)], folder))
    quoted = entry_of(folder)["Exec"].replace("\\\\", "\\")
    words = shlex.split(quoted.replace("\\$", "$").replace("\\`", "`"))
    assert words == [str(program), "%U"]
    if shutil.which("gio"):
        os.mkfifo(started := tmp_path / "started")
        program.write_text(f'#!/bin/sh\necho "$1" > {started}\n')
        program.chmod(0o755)
        subprocess.run(["gio", "launch", folder / desktop_files.ENTRY, "a b.shard"], cwd=tmp_path, check=True)
        assert split_link(started.read_text().strip()) == (str(tmp_path / "a b.shard"), None)


def test_what_was_installed_is_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = folder / "applications/other.desktop"
    other.parent.mkdir(parents=True)
    other.write_text("[Desktop Entry]\n")
    assert main(["--install-desktop"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [desktop_files.ENTRY, desktop_files.TYPES, desktop_files.ICON]
    names += [f"icons/hicolor/{size}x{size}/apps/shardscope.png" for size in desktop_files.SIZES]
    assert [line for line in lines if line.startswith("installed ")] == [f"installed {folder / name}" for name in names]
    for size, name in zip(desktop_files.SIZES, names[3:], strict=True):
        icon = QImage(str(folder / name))
        assert (icon.width(), icon.height()) == (size, size)
        assert icon.pixelColor(size // 2, size // 4).alpha() == 255
    assert main(["--install-desktop"]) == 0
    assert f"replaced {folder / names[0]}" in capsys.readouterr().out
    assert main(["--uninstall-desktop"]) == 0
    removed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("removed ")]
    assert removed == [f"removed {folder / name}" for name in names]
    assert not [path for path in folder.rglob("*shardscope*") if path.is_file()]
    assert other.read_text() == "[Desktop Entry]\n"


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems_get_one_line(
    system: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(desktop_files.sys, "platform", system)
    assert main(["--install-desktop"]) == 2
    assert capsys.readouterr().err == f"shardscope: {desktop_files.NOT_HERE}\n"


def test_the_running_program_is_named_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["bin/shardscope"])
    assert desktop_files.running_command() == [str(tmp_path / "bin/shardscope")]
    monkeypatch.setattr(sys, "argv", ["app/shardscope/__main__.py"])
    assert desktop_files.running_command() == [sys.executable, "-m", "shardscope"]
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert desktop_files.running_command() == [sys.executable]
