"""Hard compatibility: what may be combined, and why not."""
