"""Drawings of lookups and layouts: placing them, and writing them as SVG, text and JSON."""
