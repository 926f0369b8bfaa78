"""Structure, findings, transfers, places."""
