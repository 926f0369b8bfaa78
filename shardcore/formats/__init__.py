"""The formats: one package each, with equally named modules; no format imports another."""
