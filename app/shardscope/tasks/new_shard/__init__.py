"""New shards: what is packed or converted, the plan, and the dialog that requests all of it."""
