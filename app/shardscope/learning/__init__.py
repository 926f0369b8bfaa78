"""Drawings, lessons, the sandbox, charts, the comparison of formats, and help."""
