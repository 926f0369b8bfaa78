"""The view of the bytes."""
