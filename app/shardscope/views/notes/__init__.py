"""Notes and bookmarks as a panel."""
