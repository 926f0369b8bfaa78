"""Theme, labels, fields and table models that all parts of the window share."""
