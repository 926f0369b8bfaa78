"""Theme, palettes, style sheet, wrapped text."""
