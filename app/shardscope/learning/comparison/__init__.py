"""Comparison of the same objects in six formats."""
