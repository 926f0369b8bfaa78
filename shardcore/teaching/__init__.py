"""Drawings, charts, lessons, the comparison of formats, and the effect of changed bytes."""
