"""Drawings, charts, the comparison of formats, and the effect of changes in a sandbox."""
