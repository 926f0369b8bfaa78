"""Model of a shard: spans, records, nodes, objects, findings, and options. Nothing here reads."""
