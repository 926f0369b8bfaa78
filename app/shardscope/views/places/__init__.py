"""Panel of things to open: files, folders, stores, samples."""
