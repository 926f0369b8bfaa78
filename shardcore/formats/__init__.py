"""The formats: one package each, on one floor plan. They do not import each other."""
