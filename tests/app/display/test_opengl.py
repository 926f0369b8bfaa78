"""The view by OpenGL, in a real X display: offered where a context works, and silent where none does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shardcore import MeshContent
from shardscope.views.preview.opengl_view import OpenGLView, opengl_works
from tests.app.display.program import ROOT
from tests.samples.__main__ import RESOURCES

SCRIPT = Path(__file__).parent / "opengl_picture.py"
SAMPLE = RESOURCES / "samples" / "neuroglancer" / "segmentation"


def drawn(environment: dict[str, str]) -> list[str]:
    """What the script prints: nothing on the error stream."""
    command = [sys.executable, str(SCRIPT), str(SAMPLE / "mesh"), str(SAMPLE / "skeletons")]
    paths = {**environment, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "app")])}
    done = subprocess.run(command, env=paths, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.display("xdotool")
def test_meshes_and_skeletons_are_drawn_and_turned(x_display: dict[str, str]) -> None:
    """Two views, one after the other, draw something that changes when it is turned; nothing is reported."""
    lines = drawn(x_display)
    if lines == ["works False"]:
        pytest.skip("this display has no OpenGL")
    assert lines == ["works True", "mesh True True", "skeleton True True"]


def test_without_a_display_it_is_not_offered() -> None:
    """On the offscreen platform no context is tried, and the view is not offered; Qt reports nothing."""
    assert not opengl_works()
    assert not OpenGLView.shows(MeshContent("", 0, b""))
    assert drawn({**os.environ, "QT_QPA_PLATFORM": "offscreen"}) == ["works False"]
