"""How the bundled samples are created: `python -m tests.samples` writes `resources/samples`."""
