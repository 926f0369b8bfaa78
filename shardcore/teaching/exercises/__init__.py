"""Exercises: a fresh file by seed, keys to place by hand, answers that are judged step by step."""
