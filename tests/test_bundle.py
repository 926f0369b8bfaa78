"""The bundle runs without an installed Python, and gives the same results as the installed program."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from shardcore.cli.program import run
from shardcore.shards.registry import FORMATS
from shardcore.teaching import resource_paths

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "resources/samples"
SHOWN = (
    *(("des/contents.des", key) for key in ("chart.png", "buoy.jpg", "depths.npy", "gauges.npz", "src/tides.py")),
    *((f"neuroglancer/segmentation/{name}", "") for name in ("32_32_32/0.shard", "mesh/0.shard", "skeletons/0.shard")),
    ("bloscpack/array.blp", "all"),
    ("xorb/chunks.xorb", ""),
)
"""Sample and key of objects that need different decoders; an empty key means the first object."""

SECONDS = 60.0

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600), pytest.mark.xdist_group("bundle")]


class Bundle(NamedTuple):
    """Folder of the bundle, and environment variables of a machine without Python."""

    folder: Path
    environment: dict[str, str]

    def run(self, program: str, *arguments: object) -> tuple[int, str]:
        """Run a program of the bundle; return its exit code and output."""
        command = [self.folder / program, *map(str, arguments)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Bundle in the folder that `SHARDSCOPE_BUNDLE` names; default: build one, which fails if it is too large."""
    home = tmp_path_factory.mktemp("bundle")
    built = os.environ.get("SHARDSCOPE_BUNDLE", "")
    if not built:
        command = [sys.executable, ROOT / "packaging/bundle.py", "--dist", home]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    environment = {"HOME": str(home), "PATH": str(home / "nothing"), "LC_ALL": "C.UTF-8", "TMPDIR": str(home)}
    return Bundle(Path(built) if built else home / "shardscope", environment)


def same(bundle: Bundle, capsys: pytest.CaptureFixture[str], *arguments: object, out: Path | None = None) -> int:
    """Run a command installed and in the bundle, compare exit code, output and files, and return the exit code."""
    capsys.readouterr()
    words = [str(word) for word in arguments]
    if out is None:
        code = run(words)
        assert bundle.run("shardcore", *words) == (code, capsys.readouterr().out), words
        return code
    theirs = out.with_name(f"{out.name}.bundle")
    code = run([str(out) if word == "OUT" else word for word in words])
    assert bundle.run("shardcore", *(theirs if word == "OUT" else word for word in words))[0] == code, words
    assert content(theirs) == content(out), words
    return code


def content(path: Path) -> dict[str, bytes]:
    """Return the bytes of a file, or of all files in a folder except manifests, by relative path."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return {str(one.relative_to(path)): one.read_bytes() for one in files if one.name != "manifest.json"}


def test_every_sample_is_extracted(bundle: Bundle, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    codes = [
        same(bundle, capsys, "extract", sample.path, "OUT", out=tmp_path / str(number))
        for number, sample in enumerate(resource_paths.samples())
    ]
    assert codes.count(0) >= 6


def test_objects_are_shown_and_files_written(
    bundle: Bundle, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Decoders in separate processes, writers of all formats, and workers give the same results."""
    for name, key in SHOWN:
        if not key:
            run(["ls", str(SAMPLES / name), "--json", "--limit", "1"])
            key = json.loads(capsys.readouterr().out)["key"]
        assert same(bundle, capsys, "show", SAMPLES / name, key, "--json") == 0
    for name in FORMATS:
        same(bundle, capsys, "pack", name, "OUT", SAMPLES / "des/contents.des", out=tmp_path / name)
    assert (tmp_path / "swh").is_file()
    assert (tmp_path / "bloscpack").is_file()
    assert same(bundle, capsys, "verify", SAMPLES / "mdb/cache", "--depth", "content", "--cluster", "local:2") == 0
    assert bundle.run("shardcore", "info", "s3://bucket/key", "--endpoint-url", "http://127.0.0.1:9")[0] == 4


@pytest.mark.display("xdotool")
def test_every_sample_is_opened(bundle: Bundle, x_display: dict[str, str]) -> None:
    """All samples open as tabs of one window on an X server; the window title shows each of them."""

    def xdotool(*words: str) -> str:
        done = subprocess.run(["xdotool", *words], env=x_display, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    paths = [sample.path for sample in resource_paths.samples()]
    command = [bundle.folder / "shardscope", "--new-window", *paths]
    clean = bundle.environment | {"DISPLAY": x_display["DISPLAY"], "QT_QPA_PLATFORM": "xcb"}
    with subprocess.Popen(command, env=clean, stderr=subprocess.PIPE, text=True) as process:
        try:
            for path in reversed(paths):
                deadline, title = time.monotonic() + SECONDS, f"^{re.escape(path.name)}.*Shardscope$"
                while not xdotool("search", "--onlyvisible", "--name", title):
                    assert process.poll() is None, process.communicate()
                    assert time.monotonic() < deadline, f"{path.name} is not shown, but {xdotool('getactivewindow')}"
                    xdotool("search", "--sync", "--onlyvisible", "--name", "Shardscope$", "windowfocus", "--sync")
                    xdotool("key", "ctrl+shift+Tab")
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=30)
    assert errors == ""


def test_contents_are_previewed(bundle: Bundle, tmp_path: Path) -> None:
    """Screenshots of a mesh, a picture and a lesson are identical to those of the installed program."""
    chart = json.loads(bundle.run("shardcore", "ls", SAMPLES / "des/contents.des", "--json")[1].splitlines()[4])
    mesh = SAMPLES / "neuroglancer/segmentation/mesh/0.shard"
    lesson = resource_paths.path("lessons/des-2-find-a-key.md")
    looks = (
        [mesh, "--select", "7288", "--show", "preview"],
        [SAMPLES / "des/contents.des", "--select", str(chart["start"]), "--show", "preview"],
        ["--lesson", lesson],
    )
    for number, look in enumerate(looks):
        ours, theirs = tmp_path / f"{number}.png", tmp_path / f"{number}.bundle.png"
        words = [*map(str, look), "--screenshot"]
        assert bundle.run("shardscope", *words, theirs)[0] == 0
        subprocess.run([sys.executable, "-m", "shardscope", *words, ours], check=True)
        assert ours.read_bytes() == theirs.read_bytes()
