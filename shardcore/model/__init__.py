"""What a shard consists of: spans, records, nodes, objects, findings, and options. Nothing here reads."""
