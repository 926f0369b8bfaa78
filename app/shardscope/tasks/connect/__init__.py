"""Opening of remote addresses: login, endpoint, test of the permissions."""
