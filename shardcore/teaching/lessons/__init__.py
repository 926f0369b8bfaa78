"""Lessons: texts with questions about a file, values in the texts, and checking answers."""
