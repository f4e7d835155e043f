"""Arms whose servers are behind a bridge of the runtime's."""
