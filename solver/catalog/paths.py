"""Where the profiles and schemas lie: inside the wheel, or beside the package in a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_SHIPPED = _PACKAGE / "_data"
_ROOT = _SHIPPED if _SHIPPED.is_dir() else _PACKAGE.parent

PROFILES_DIR = _ROOT / "profiles"
SCHEMAS_DIR = _ROOT / "schemas"
