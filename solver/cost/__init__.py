"""Bytes and time of a plan in service."""
