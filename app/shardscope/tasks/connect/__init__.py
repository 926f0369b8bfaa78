"""Asking for a remote address, and as whom it is reached."""
