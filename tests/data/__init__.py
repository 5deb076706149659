"""Published and measured facts that tests compare with; each file names its source in its first lines."""

import csv
from pathlib import Path


def rows(name: str) -> list[dict[str, str]]:
    """Return the records of one file, comments left out."""
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))
