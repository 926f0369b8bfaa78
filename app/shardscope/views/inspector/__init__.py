"""Details of the selection."""
