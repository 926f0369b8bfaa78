"""Lessons: texts that ask about a file, the values in them, and the judging of answers."""
