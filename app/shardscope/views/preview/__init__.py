"""Preview of the selected object: text, table, picture or array."""
