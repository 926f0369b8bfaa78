"""Theme, fonts, labels, tables and other widgets that several views use."""
