"""The open file and the selection. No widgets."""
