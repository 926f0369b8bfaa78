"""Layouts of each kind of figure."""
