"""Inspector panel: details of the selected field, object, bytes or file."""
