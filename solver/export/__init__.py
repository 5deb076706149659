"""Commands and scripts that carry a confirmed plan out: they quantize, and serve the result."""
