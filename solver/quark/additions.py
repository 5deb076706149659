"""Profiles of what is new in the installed Quark: what it declares, and of the rest that it is not known."""

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from solver.catalog.algorithm import Algorithm
from solver.catalog.base import Profile
from solver.catalog.scheme import Noise, Scheme, TensorFormat
from solver.catalog.section import read_yaml, validated
from solver.catalog.template import Template
from solver.errors import BadInputError
from solver.files import write_atomic
from solver.quark.drift import DriftItem
from solver.quark.facts import QuarkFacts, source_of

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_FOLDERS: dict[type[Profile], str] = {Scheme: "schemes", Algorithm: "algorithms", Template: "templates"}


def _scheme(name: str, facts: QuarkFacts) -> Scheme | None:
    found = facts.schemes[name]
    if not isinstance(found.weight, TensorFormat):
        return None
    source = source_of(facts.version)
    return Scheme(
        name=name,
        summary=f"{found.weight.format} weights, {found.activation.format if found.activation else 'no'} activations",
        # A family of its own: no algorithm is known to fit it, or to break it.
        family=name,
        weight=found.weight,
        activation=found.activation,
        unmeasured=f"{source}, which declares neither what an export stores nor the error of quantizing",
        noise=Noise(weight={}, unit="1", source=f"not measured; {source}"),
    )


def _algorithm(name: str, facts: QuarkFacts) -> Algorithm:
    source = source_of(facts.version)
    return Algorithm(
        name=name,
        summary="registered in Quark; nothing more is known of it here",
        offered=False,
        fits=(),
        config=facts.algorithms[name],
        gain_confidence="judgement",
        source=f"{source}, which declares its settings alone: no gain is assumed, and what it breaks is not known",
    )


def additions(items: Iterable[DriftItem], facts: QuarkFacts) -> tuple[list[Profile], list[DriftItem]]:
    """Return a profile for each thing that is new or otherwise, and the items that no profile can be written of.

    What is otherwise replaces the bundled profile. What is gone is none of these, and neither is a KV scheme, of which
    it is not declared what it stores, nor a bundled algorithm, whose profile knows more than Quark declares.
    """
    profiles: dict[tuple[str, str], Profile] = {}
    others: list[DriftItem] = []
    for item in items:
        made: Profile | None = None
        if item.change != "gone" and _SAFE_NAME.fullmatch(item.name):
            if item.kind == "scheme":
                made = _scheme(item.name, facts)
            elif item.kind == "template":
                made = facts.templates[item.name]
            elif item.kind == "algorithm" and item.change == "new":
                made = _algorithm(item.name, facts)
        if made is None:
            others.append(item)
        else:
            profiles[item.kind, item.name] = made
    return list(profiles.values()), others


def _plain(profile: Profile) -> dict[str, Any]:
    return profile.model_dump(mode="json", exclude_defaults=True)


def profile_text(profile: Profile) -> str:
    """Return a profile as YAML, which the catalogue's own reader reads back as the same."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 110
    text = io.StringIO()
    yaml.dump(_plain(profile), text)
    return text.getvalue()


def write_additions(profiles: Iterable[Profile], folder: Path) -> list[Path]:
    """Write profiles below a folder that `--profiles` takes, all or none, and return their files.

    Raises
    ------
    BadInputError
        If the folder cannot be written, or holds another profile under one of the names.
    """
    texts: dict[Path, tuple[Profile, str]] = {}
    for profile in profiles:
        name = str(getattr(profile, "name", None) or getattr(profile, "model_type", ""))
        texts[folder / _FOLDERS[type(profile)] / f"{name}.yaml"] = profile, profile_text(profile)
    for path, (_, text) in texts.items():
        if path.exists() and path.read_text(encoding="utf-8") != text:
            raise BadInputError(
                "holds another profile, which is not replaced.",
                where=str(path),
                mend="Name another folder, or move it.",
            )
    for path, (profile, text) in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or "no folder"
            raise BadInputError(f"cannot be made: {reason}.", where=str(path.parent), mend="Name a folder.") from error
        write_atomic(path, text)
        validated(type(profile), read_yaml(path), where=str(path))
    return sorted(texts)
