"""Qt item models over nodes, columns, findings and jobs."""
