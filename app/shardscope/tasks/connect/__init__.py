"""Opening of remote addresses: login, endpoint, permission test."""
