"""The `shardscope` command, run as users run it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from shardcore import RemoteOptions
from shardcore.teaching import resource_paths
from shardcore.testing import sampled
from shardscope.__main__ import main, parser, remote_options_of


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    clean = {name: value for name, value in os.environ.items() if name not in hidden}
    words = [sys.executable, "-m", "shardscope", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=100, env=clean | environment, check=False)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="a window can always be shown there")
def test_no_display() -> None:
    """Without a display: one line that names what works instead, and exit code 2."""
    done = command("some.shard")
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert "shardcore" in lines[0]
    assert "--screenshot" in lines[0]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("theme", "scale", "size"), sampled([("light-safe", 1.5, (1200, 800)), ("dark", 2, (1100, 760))], 1)
)
def test_screenshot(data: Path, tmp_path: Path, theme: str, scale: float, size: tuple[int, int]) -> None:
    """A picture of the window on a sample: its size is what was asked for, times the scale, and it is not empty."""
    target = tmp_path / "out.png"
    done = command(
        "--screenshot", target, data / "swh" / "small.shard",
        "--theme", theme, "--scale", scale, "--size", f"{size[0]}x{size[1]}", "--select", "0x2bc",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    image = QImage(str(target))
    assert (image.width(), image.height()) == (size[0] * scale, size[1] * scale)
    colours = {image.pixel(x, y) for x in range(0, image.width(), 7) for y in range(0, image.height(), 7)}
    assert len(colours) > 30
    assert (image.pixelColor(3, image.height() - 40).lightnessF() < 0.5) is theme.startswith("dark")


@pytest.mark.thorough
def test_screenshot_of_a_trace(data: Path, tmp_path: Path) -> None:
    """`--trace` and `--verify` show more than the first page; so does `--lesson`."""
    plain, traced, taught = (tmp_path / f"{name}.png" for name in ("plain", "traced", "taught"))
    sample = data / "swh" / "small.shard"
    key = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    assert command("--screenshot", plain, sample).returncode == 0
    done = command("--screenshot", traced, sample, "--trace", key, "--step", 3, "--verify", "index")
    assert (done.returncode, done.stderr) == (0, "")
    assert QImage(str(plain)) != QImage(str(traced))
    lesson = resource_paths.resources() / "lessons" / "swh-1-meet-the-file.md"
    done = command("--screenshot", taught, sample, "--lesson", lesson)
    assert (done.returncode, done.stderr) == (0, "")
    assert QImage(str(plain)) != QImage(str(taught))


def test_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that make no sense are refused with exit code 2 and the reason."""
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.setenv("QT_SCALE_FACTOR", "1")
    wrong = {"--size": "big", "--scale": "9", "--theme": "pink", "--select": "first", "--verify": "all"}
    for option, value in wrong.items():
        with pytest.raises(SystemExit) as ended:
            main(["--screenshot", str(tmp_path / "out.png"), option, value])
        assert ended.value.code == 2
        assert option in capsys.readouterr().err.splitlines()[-1]
    with pytest.raises(SystemExit):
        main(["--select", "0x10", "x.shard"])
    assert "--select requires --screenshot" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("small.shard", ["--show", "nothing"], "--show must be one of structure, "),
        ("small.shard", ["--select", "0x10000"], "no byte 0x10000"),
        ("nothing.shard", [], "nothing.shard"),
    ],
)
def test_what_is_not_there_cannot_be_pictured(
    data: Path, tmp_path: Path, name: str, arguments: list[str], said: str
) -> None:
    target = tmp_path / "out.png"
    done = command("--screenshot", target, data / "swh" / name, *arguments)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not target.exists()


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
@pytest.mark.parametrize(("number", "sample"), sampled([(signal.SIGINT, ""), (signal.SIGTERM, "small.shard")], 1))
def test_a_signal_closes_the_window(data: Path, tmp_path: Path, number: int, sample: str) -> None:
    arguments = [str(data / "swh" / sample)] if sample else []
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(tmp_path)}
    ready = "import sys; from PySide6.QtCore import QTimer; from shardscope.shell.main_window import MainWindow as W\n"
    ready += "show = W.show\nW.show = lambda w: (show(w), QTimer.singleShot(0, lambda: print('up', flush=True)))\n"
    code = f"{ready}from shardscope.__main__ import main; sys.exit(main({arguments!r}))"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=pipe, stderr=pipe, text=True) as run:
        try:
            assert run.stdout.readline() == "up\n"
            run.send_signal(number)
            output, errors = run.communicate(timeout=60)
        finally:
            run.kill()
    lines = [line for line in errors.splitlines() if "This plugin does not support" not in line]
    assert (run.returncode, output, lines) == (0, "", [])
    assert list(tmp_path.rglob("settings.json"))


def test_flags_for_remote_addresses(capsys: pytest.CaptureFixture[str]) -> None:
    """They are called as those of `shardcore`; without any nothing is said, and contradictions are refused."""
    options = parser()
    assert remote_options_of(options, options.parse_args(["s3://b/k"])) is None
    given = options.parse_args(
        ["s3://b/k", "--no-sign-request", "--endpoint-url", "http://h:9", "--addressing", "path"]
    )
    wanted = RemoteOptions(anonymous=True, endpoint_url="http://h:9", addressing="path")
    assert remote_options_of(options, given) == wanted
    with pytest.raises(SystemExit):
        remote_options_of(options, options.parse_args(["--no-sign-request", "--profile", "lab"]))
    assert "cannot be combined with a profile or keys" in capsys.readouterr().err
