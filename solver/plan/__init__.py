"""From alternatives to a confirmed plan."""
