"""Model of a shard: spans, records, nodes, objects, findings, and options. These modules read no files."""
