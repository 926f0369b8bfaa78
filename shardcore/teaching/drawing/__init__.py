"""Drawings of lookups and layouts as data: what is drawn, where it is placed, and how it becomes SVG or text."""
