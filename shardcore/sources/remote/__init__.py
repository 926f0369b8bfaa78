"""Bytes of other machines: S3, stores that speak it, and HTTP, by ranges. Nothing here is imported for local files."""
