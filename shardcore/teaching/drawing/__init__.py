"""Drawings of lookups and file layouts: placing figures, and output as SVG, text and JSON."""
