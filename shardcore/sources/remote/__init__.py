"""Remote files by ranges: S3, stores with its interface, and HTTP. Not imported for local files."""
