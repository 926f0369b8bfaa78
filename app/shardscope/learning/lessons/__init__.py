"""Lessons: guided tours of a format that ask questions. `docs/writing-lessons.md` describes how to write one."""
