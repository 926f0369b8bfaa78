"""Findings of a verification, and results of a search."""
