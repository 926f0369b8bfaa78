"""Draws an object of the segmented sample by OpenGL and turns it; prints whether that works. Run by a test."""

from __future__ import annotations

import sys

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

import shardcore
from shardcore import content
from shardscope.session.jobs import Jobs
from shardscope.session.session import Session
from shardscope.views.preview.content_view import Preview
from shardscope.views.preview.opengl_view import OpenGLView, opengl_works


def main() -> None:
    """Shows each object, one after the other, in a view of its own."""
    QApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    application = QApplication(sys.argv[:1])
    sys.stdout.write(f"works {opengl_works()}\n")
    if not opengl_works():
        return
    jobs = Jobs()
    session = Session(jobs)
    for path in sys.argv[1:]:
        with shardcore.open(path) as shard:
            ref = shard.find("1001")
            found = content(shard, ref)
            prepared = OpenGLView.prepare(shard, ref, found)
        view = OpenGLView(session)
        view.resize(300, 300)
        view.show_preview(Preview(ref, found, (), prepared))
        view.show()
        QTest.qWaitForWindowExposed(view)
        first = view.picture()
        QTest.keyClick(view.surface, Qt.Key.Key_Left)
        second = view.picture()
        assert first is not None
        colours = {first.pixel(x, y) for x in range(0, first.width(), 2) for y in range(0, first.height(), 2)}
        sys.stdout.write(f"{found.kind} {len(colours) > 2} {first != second}\n")
    session.close()
    jobs.shutdown()
    del application


if __name__ == "__main__":
    main()
