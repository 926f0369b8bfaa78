"""Writing and editing shards: plans, inputs, manifests, temporary files, and edits in place with undo."""
