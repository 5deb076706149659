"""Commands and scripts that carry a confirmed plan out."""
