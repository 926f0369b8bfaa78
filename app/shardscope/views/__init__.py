"""The widgets: they show, and never parse or read."""
