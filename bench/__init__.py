"""Benchmarks: what is measured side by side in one run. `python -m bench` runs all of them."""
