"""Two shards compared, object by object and byte by byte."""
