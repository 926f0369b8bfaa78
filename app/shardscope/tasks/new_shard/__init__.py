"""New shards: what is packed or converted, the plan, and the sheet that asks for all of it."""
