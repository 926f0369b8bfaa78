"""File formats, one package each. The packages have equally named modules and do not import each other."""
