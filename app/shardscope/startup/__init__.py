"""Settings, single instance, desktop integration and signals: code that runs before the window exists."""
