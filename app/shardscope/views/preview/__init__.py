"""Preview of the selected object: text, table, picture, array."""
