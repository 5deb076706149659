"""All profiles of one run, and the fingerprint that a plan records of them."""

import hashlib
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from solver.catalog.algorithm import Algorithm
from solver.catalog.backend import Backend
from solver.catalog.base import Profile
from solver.catalog.caches import CacheFields
from solver.catalog.checkpoint_names import CheckpointNames
from solver.catalog.defect import Defect
from solver.catalog.fields import ConfigFields
from solver.catalog.goal import Goal, Guide
from solver.catalog.hardware import Hardware
from solver.catalog.kv_scheme import KvScheme
from solver.catalog.mtp import MtpRules
from solver.catalog.paths import PROFILES_DIR
from solver.catalog.roles import Roles
from solver.catalog.rule import RuleFact
from solver.catalog.scheme import Scheme, StoredTensor
from solver.catalog.section import Section, read_yaml, validated
from solver.catalog.sensitivity import Sensitivity
from solver.catalog.stored_format import StoredFormat
from solver.catalog.template import Template
from solver.catalog.tensors import StoredTensors
from solver.catalog.translation import Translation
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
        self.kv_schemes = Section("KV scheme", KvScheme, self._folders("kv_schemes"))
        self.algorithms = Section("algorithm", Algorithm, self._folders("algorithms"))
        self.templates = Section("template", Template, self._folders("templates"), key="model_type")
        self.hardware = Section("hardware", Hardware, self._folders("hardware"))
        self.backends = Section("backend", Backend, self._folders("backends"))
        self.sensitivities = Section("sensitivity", Sensitivity, self._folders("sensitivity"))
        self.stored_formats = Section("stored format", StoredFormat, self._folders("stored_formats"))
        self.translations = Section("translation", Translation, self._folders("translations"), key="model_type")
        self.rules = Section("rule", RuleFact, self._folders("rules"))
        self.defects = Section("defect", Defect, self._folders("defects"))
        self.goals = Section("goal", Goal, self._folders("goals"))
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
    def checkpoint_names(self) -> CheckpointNames:
        """Spellings of module names; a user's `checkpoint_names.yaml` replaces the bundled one."""
        return self._single(CheckpointNames, "checkpoint_names.yaml")

    def storage_of(self, stored: StoredFormat) -> tuple[StoredTensor, ...]:
        """Return the tensors that one weight becomes in a stored format."""
        return self.schemes.get(stored.storage_of).storage if stored.storage_of else stored.storage

    @cached_property
    def guide(self) -> Guide:
        """What Quark's own guide advises; a user's `guide.yaml` replaces the bundled one."""
        return self._single(Guide, "guide.yaml")

    @cached_property
    def mtp(self) -> MtpRules:
        """The rules for multi-token-prediction layers; a user's `mtp.yaml` replaces the bundled one."""
        return self._single(MtpRules, "mtp.yaml")

    @cached_property
    def cache_fields(self) -> CacheFields:
        """Where configurations describe their caches; a user's `caches.yaml` replaces the bundled one."""
        return self._single(CacheFields, "caches.yaml")

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
