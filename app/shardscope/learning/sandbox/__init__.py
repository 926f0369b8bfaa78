"""Breaking what is open safely: changes in memory, what notices them, and what can be saved."""
