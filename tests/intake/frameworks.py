"""Sees which frameworks a piece of code loads, in a process of its own."""

import subprocess
import sys


def frameworks_loaded(code: str, *arguments: str) -> set[str]:
    """Return which of torch and transformers are loaded when the code has run; `sys.argv` holds its arguments."""
    report = f"import sys\n{code}\nprint(*{{'torch', 'transformers'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", report, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.split())
