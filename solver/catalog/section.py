"""One folder of profiles: files read on demand, names found by alias, unknown names answered."""

import difflib
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from solver.catalog.base import Profile
from solver.catalog.paths import PROFILES_DIR
from solver.errors import BadInputError, UnknownNameError

P = TypeVar("P", bound=Profile)


def canonical(name: str) -> str:
    """Return a name without case and punctuation, decimal points kept: `Qwen3-1.7B` -> `qwen31.7b`."""
    return re.sub(r"[^a-z0-9.]|(?<!\d)\.|\.(?!\d)", "", name.lower())


def _one_line(error: Exception) -> str:
    """Return what a YAML error says and where in the file, without its excerpts and advice."""
    if not isinstance(error, MarkedYAMLError):
        return " ".join(str(error).split())
    mark = error.problem_mark or error.context_mark
    place = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{error.problem or error.context}{place}"


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML 1.2 file, read by the safe loader.

    Raises
    ------
    BadInputError
        If the file is no valid YAML (duplicate keys included) or cannot be read.

    """
    # libyaml is several times as fast, and ends the process where a file is nested deeply: it reads our own files only.
    pure = not path.is_relative_to(PROFILES_DIR)
    try:
        return YAML(typ="safe", pure=pure).load(path.read_text(encoding="utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        raise BadInputError(f"not valid YAML: {_one_line(error)}.", where=str(path)) from error
    except RecursionError:
        raise BadInputError("not valid YAML: nested too deeply.", where=str(path)) from None
    except OSError as error:
        raise BadInputError(f"cannot be read: {error.strerror}", where=str(path)) from error


def validated(model: type[P], content: Any, *, where: str) -> P:
    """Return `content` as `model`; a mismatch becomes one line for each offending field."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        lines = "; ".join(
            f"{'.'.join(str(part) for part in item['loc']) or 'document'}: {item['msg']}"
            for item in error.errors(include_url=False)
        )
        raise BadInputError(f"does not have the expected form: {lines}.", where=where) from error


class Section(Generic[P]):
    """A folder of profiles of one type; later folders override earlier ones by file name.

    Parameters
    ----------
    kind
        What one entry is, for messages (`scheme`).
    model
        The type that each file must have.
    folders
        Folders to read; those that do not exist are empty.
    key
        The field that names an entry.

    """

    def __init__(self, kind: str, model: type[P], folders: list[Path], *, key: str = "name") -> None:
        self.kind = kind
        self._model = model
        self._key = key
        self._files = {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}
        self._stems = {canonical(stem): stem for stem in self._files}
        self._loaded: dict[str, P] = {}
        self._found: dict[str, P | None] = {}

    def _entry(self, stem: str) -> P:
        if stem not in self._loaded:
            path = self._files[stem]
            self._loaded[stem] = validated(self._model, read_yaml(path), where=str(path))
        return self._loaded[stem]

    def __iter__(self) -> Iterator[P]:
        """Yield all entries in the order of their file names."""
        return (self._entry(stem) for stem in sorted(self._files))

    def __len__(self) -> int:
        return len(self._files)

    def _names_of(self, entry: P) -> list[str]:
        fields = (getattr(entry, self._key), getattr(entry, "title", None))
        return [name for name in (*fields, *getattr(entry, "aliases", ())) if name]

    @cached_property
    def _by_alias(self) -> dict[str, P]:
        owners: dict[str, tuple[str, P]] = {}
        for stem in sorted(self._files):
            entry = self._entry(stem)
            for name in self._names_of(entry):
                owner, _ = owners.setdefault(canonical(name), (stem, entry))
                if owner != stem:
                    raise BadInputError(
                        f"the {self.kind} {name!r} is that of {self._files[owner]} already.",
                        where=str(self._files[stem]),
                        mend="A file overrides the bundled one of the same file name.",
                    )
        return {name: entry for name, (_, entry) in owners.items()}

    def find(self, name: str) -> P | None:
        """Return the entry with this name, title or alias, whatever its case and punctuation."""
        if name not in self._found:
            wanted = canonical(name)
            stem = self._stems.get(wanted)
            self._found[name] = self._by_alias.get(wanted) if stem is None else self._entry(stem)
        return self._found[name]

    def get(self, name: str) -> P:
        """Return the entry with this name, title or alias.

        Raises
        ------
        UnknownNameError
            If there is none; it carries the nearest known names.

        """
        entry = self.find(name)
        if entry is None:
            raise UnknownNameError(
                self.kind,
                name,
                self.nearest(name),
                listing=f"solve profiles list {self.section_name}",
            )
        return entry

    @property
    def section_name(self) -> str:
        """The plural under which `solve profiles list` knows this section."""
        return self.kind if self.kind in {"hardware"} else f"{self.kind.replace(' ', '_')}s"

    def nearest(self, name: str, *, count: int = 3) -> list[str]:
        """Return the known names most like `name`, best first."""
        known = {canonical(other): getattr(entry, self._key) for other, entry in self._by_alias.items()}
        found = difflib.get_close_matches(canonical(name), known, n=2 * count, cutoff=0.5)
        return list(dict.fromkeys(str(known[match]) for match in found))[:count]
