"""Units and options to proven plans: the only part that imports OR-Tools."""
