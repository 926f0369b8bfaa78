"""Jobs, and the requests to remote stores."""
