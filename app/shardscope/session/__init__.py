"""State of a window without widgets: open files, selection, lookup, notes, and the jobs that read files."""
