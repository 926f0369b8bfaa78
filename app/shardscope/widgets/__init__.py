"""Theme, fonts, fields and table models shared by all views."""
