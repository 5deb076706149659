"""All profiles of one run, and the fingerprint that a plan records of them."""

import hashlib
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from solver.catalog.algorithm import Algorithm
from solver.catalog.backend import Backend
from solver.catalog.base import Profile
from solver.catalog.fields import ConfigFields
from solver.catalog.hardware import Hardware
from solver.catalog.paths import PROFILES_DIR
from solver.catalog.roles import Roles
from solver.catalog.scheme import Scheme
from solver.catalog.section import Section, read_yaml, validated
from solver.catalog.sensitivity import Sensitivity
from solver.catalog.template import Template
from solver.catalog.tensors import StoredTensors
from solver.catalog.zoo import ZooModel
from solver.errors import BadInputError

P = TypeVar("P", bound=Profile)

NATIVE = "native"
"""The scheme of a layer that is left in the checkpoint's own type."""


class Catalog:
    """Typed, lazy access to `profiles/`, with a user's folder on top.

    Parameters
    ----------
    extra
        A folder laid out like `profiles/`; its files add entries or override those of the same file name.

    Raises
    ------
    BadInputError
        If `extra` is no folder.

    """

    def __init__(self, extra: Path | None = None) -> None:
        if extra is not None and not extra.is_dir():
            raise BadInputError(
                "is no folder.", where=f"--profiles {extra}", mend="Name a folder laid out like `profiles/`."
            )
        self._roots = [PROFILES_DIR] + ([extra] if extra else [])
        self.schemes = Section("scheme", Scheme, self._folders("schemes"))
        self.algorithms = Section("algorithm", Algorithm, self._folders("algorithms"))
        self.templates = Section("template", Template, self._folders("templates"), key="model_type")
        self.hardware = Section("hardware", Hardware, self._folders("hardware"))
        self.backends = Section("backend", Backend, self._folders("backends"))
        self.sensitivities = Section("sensitivity", Sensitivity, self._folders("sensitivity"))
        self.models = Section("model", ZooModel, self._folders("models"))

    @property
    def extended(self) -> bool:
        """Whether a user's folder lies on top."""
        return len(self._roots) > 1

    def _folders(self, name: str) -> list[Path]:
        return [root / name for root in self._roots]

    def _single(self, model: type[P], name: str) -> P:
        path = next(root / name for root in reversed(self._roots) if (root / name).is_file())
        return validated(model, read_yaml(path), where=str(path))

    @cached_property
    def roles(self) -> Roles:
        """The layer roles; a user's `roles.yaml` replaces the bundled one."""
        return self._single(Roles, "roles.yaml")

    @cached_property
    def config_fields(self) -> ConfigFields:
        """Field names of configurations; a user's `config_fields.yaml` replaces the bundled one."""
        return self._single(ConfigFields, "config_fields.yaml")

    @cached_property
    def stored_tensors(self) -> StoredTensors:
        """What checkpoints hold beside parameters; a user's `stored_tensors.yaml` replaces the bundled one."""
        return self._single(StoredTensors, "stored_tensors.yaml")

    @cached_property
    def fingerprint(self) -> str:
        """A hash over every profile that can change a plan (the zoo is fingerprinted by model)."""
        digest = hashlib.sha256()
        for root in self._roots:
            for path in sorted(root.rglob("*.yaml")):
                relative = path.relative_to(root)
                if relative.parts[0] != "models":
                    digest.update(f"{relative.as_posix()}\0".encode())
                    digest.update(path.read_bytes())
        return digest.hexdigest()[:16]
