"""Settings, assets and flags: needed before there is a window."""
