"""Search for a key in the files of a folder."""
