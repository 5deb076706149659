"""Predicted loss of quality."""
