"""Dialogs that run a job: new shard, convert, edit, extract, recover, connect."""
