"""Remote files, read by ranges: S3 and compatible stores, and HTTP. Not imported for local files."""
