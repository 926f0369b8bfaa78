"""How the bundled samples are made: `python -m tests.samples` writes `resources/samples` and `samples.json`."""
