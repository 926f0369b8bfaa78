"""Dialogs that run a job: new shard, conversion, editing, extraction, recovery, connection."""
