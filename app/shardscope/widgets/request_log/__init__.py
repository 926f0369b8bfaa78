"""The request tape of what is open: its records in columns, what they cost, and what they would have cost."""
