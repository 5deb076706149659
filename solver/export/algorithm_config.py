"""Settings of algorithms that a user supplies as JSON, in the two forms that Quark's own tools read.

Its example script takes one algorithm a file, `{"name": "awq", ...}` (`load_quant_algo_config_from_file`); quark-cli
takes a template file with all of them under `algorithm_configs` (`experimental/cli/register_template.py` of 0.13).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solver.catalog import Catalog
from solver.catalog.algorithm import Algorithm
from solver.errors import BadInputError, MissingError
from solver.intake.json_file import read_json

TEMPLATE_FIELDS = {
    "kv_layers_name": "kv_layers",
    "q_layer_name": "q_layers",
    "gate_up_layers_name": "gate_up_layers",
    "exclude_layers_name": "exclude_layers",
}
"""Patterns in a template file, with the fields of our templates that hold the same."""
CONFIGS = "algorithm_configs"


@dataclass(frozen=True)
class ConfigFile:
    """A file that was read and checked: its absolute path, and the settings that it holds by algorithm.

    `template` are its other fields where it is a template file, else None.
    """

    path: str
    configs: Mapping[str, Mapping[str, Any]]
    template: Mapping[str, Any] | None = None


def _named(name: str, catalog: Catalog, where: str) -> Algorithm:
    """Return the algorithm that a configuration calls `name`: Quark calls smoothquant's `smooth`."""
    for algorithm in catalog.algorithms:
        if algorithm.config is not None and name in {algorithm.config.name, algorithm.name}:
            return algorithm
    known = ", ".join(item.config.name for item in catalog.algorithms if item.config is not None)
    raise BadInputError(f"Quark has no algorithm {name!r}.", where=where, mend=f"`name` is one of {known}.")


def check_config(algorithm: Algorithm, content: Mapping[str, Any], where: str) -> None:
    """Check the settings of an algorithm against the fields that Quark reads.

    Raises
    ------
    BadInputError
        If a field is unknown, missing or of another type; the first one is named.

    """
    import jsonschema  # takes longer to load than most plans take to make

    assert algorithm.config is not None
    validator = jsonschema.Draft202012Validator(algorithm.config.json_schema())
    error = next(iter(sorted(validator.iter_errors(dict(content)), key=lambda found: found.json_path)), None)
    if error is not None:
        fields = ", ".join(algorithm.config.fields)
        raise BadInputError(
            f"is no configuration of {algorithm.name}: {error.json_path}: {error.message}.",
            where=where,
            mend=f"Quark 0.13 reads name, {fields}.",
        )


def _object(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise MissingError("there is no such file.", where=str(path), mend="Name a JSON file.")
    try:
        content = read_json(path)
    except (ValueError, RecursionError, OSError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise BadInputError(f"is no JSON that can be read: {reason}.", where=str(path)) from error
    if not isinstance(content, dict):
        raise BadInputError("holds no JSON object.", where=str(path))
    return content


def _configs(content: dict[str, Any], catalog: Catalog, where: str) -> dict[str, dict[str, Any]]:
    found = {}
    for key, item in content.items():
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise BadInputError(
                f"{key}: an algorithm's configuration is an object with a `name`.",
                where=where,
                mend='Write for example {"name": "awq", "model_decoder_layers": "model.layers"}.',
            )
        algorithm = _named(item["name"], catalog, where)
        if key not in {"", algorithm.name}:
            raise BadInputError(f"{key!r} holds a configuration of {algorithm.name}.", where=where)
        check_config(algorithm, item, where)
        found[algorithm.name] = item
    return found


def read_config_file(text: str, catalog: Catalog) -> ConfigFile:
    """Return the file that a user names as `FILE`, or as `ALGORITHM=FILE` where it is one algorithm's.

    Raises
    ------
    MissingError
        If there is no such file.
    BadInputError
        If Quark would not read it; the reason names the field.

    """
    # A file may have an equals sign in its name.
    name, equals, rest = (text, "", "") if Path(text).is_file() else text.partition("=")
    typed = Path(rest if equals else name).expanduser()
    path = typed.absolute()
    if not (name and (rest or not equals)):
        raise BadInputError(
            f"{text!r} is not FILE or ALGORITHM=FILE.", where="--algo-config", mend="Write for example awq=awq.json."
        )
    content, where = _object(typed), str(typed)
    if CONFIGS not in content:
        return ConfigFile(str(path), _configs({name if equals else "": content}, catalog, where))
    unknown = sorted(set(content) - {"model_type", CONFIGS, *TEMPLATE_FIELDS})
    if unknown or not isinstance(content[CONFIGS], dict):
        raise BadInputError(
            f"is no template file of Quark's: {', '.join(unknown) or CONFIGS}.",
            where=where,
            mend=f"It has model_type, {', '.join(TEMPLATE_FIELDS)} and {CONFIGS}.",
        )
    template = {key: value for key, value in content.items() if key != CONFIGS}
    return ConfigFile(str(path), _configs(content[CONFIGS], catalog, where), template)


def given_configs(files: Iterable[ConfigFile]) -> dict[str, Mapping[str, Any]]:
    """Return the settings of all files by algorithm; the last one of an algorithm counts."""
    return {name: config for file in files for name, config in file.configs.items()}
