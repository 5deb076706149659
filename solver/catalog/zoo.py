"""The bundled zoo: real configurations of published models, so that planning needs no network."""

from typing import Any

from pydantic import Field

from solver.catalog.base import Profile


class ZooModel(Profile):
    """One published model: its hub name and its `config.json` as it was published."""

    name: str
    aliases: tuple[str, ...] = ()
    source: str
    published_elements: int | None = Field(default=None, description="stored elements as the hub counts them")
    published_elements_source: str | None = None
    note: str | None = None
    config: dict[str, Any]
