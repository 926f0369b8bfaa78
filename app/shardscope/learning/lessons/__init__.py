"""Lessons: guided tours of a format that ask before they tell. `docs/writing-lessons.md` says how they are written."""
