"""Findings of a verification, and hits of a search."""
