"""Reads `fleet.yaml`: every mistake is told with its line and its field."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML

from solver.capacity.fleet import Fleet
from solver.catalog.section import read_yaml
from solver.errors import BadInputError, MissingError

_MOST_TOLD = 5
_PATTERN = "Write for example '2%' (rise in perplexity) or '0.02 nats'"


def _line(document: Any, location: Sequence[int | str]) -> int:
    """Return the line of a field in a document of ruamel's round-trip loader, or of the nearest part that has one."""
    line = 0
    for step in location:
        try:
            line = document.lc.item(step)[0] if isinstance(step, int) else document.lc.key(step)[0]
            document = document[step]
        except (AttributeError, KeyError, IndexError, TypeError):
            break
    return int(line) + 1


def _sentence(item: ErrorDetails) -> str:
    field = ".".join(map(str, item["loc"])) or "document"
    said = item["msg"].removeprefix("Value error, ")
    if item["type"] == "extra_forbidden":
        said = "there is no such key"
    elif item["loc"][-1:] == ("max_risk",):
        said = f"{item['input']!r} is no loss. {_PATTERN}"
    return f"{field}: {said}"


def read_fleet(path: Path) -> Fleet:
    """Return the fleet in a YAML 1.2 file.

    Raises
    ------
    MissingError
        If there is no such file.
    BadInputError
        If it is no valid YAML, or no fleet; lines and fields are named.

    """
    if not path.is_file():
        raise MissingError(
            "there is no such file.", where=str(path), mend="`solve capacity --help` says what is in one."
        )
    content = read_yaml(path)
    try:
        return Fleet.model_validate(content)
    except ValidationError as error:
        document = YAML(typ="rt", pure=True).load(path.read_text(encoding="utf-8"))
        found = error.errors(include_url=False)
        # A list whose every item is wrong is called empty besides.
        whole = [item for item in found if item["type"] != "too_short" or len(found) == 1]
        told = [f"line {_line(document, item['loc'])}, {_sentence(item)}" for item in whole[:_MOST_TOLD]]
    raise BadInputError(f"{'; '.join(told)}.", where=str(path), mend="docs/capacity.md lists the keys of a fleet.")
