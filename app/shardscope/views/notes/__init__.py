"""Panel of notes and bookmarks."""
