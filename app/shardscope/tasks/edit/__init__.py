"""Changing files that are open: what may be changed, what would change, and changing it."""
