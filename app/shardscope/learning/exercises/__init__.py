"""Exercises and exams, and what is handed in."""
