"""Jobs, and requests to remote stores."""
