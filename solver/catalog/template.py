"""Model templates of AMD Quark: the patterns that it applies to a model type by default."""

from pydantic import Field

from solver.catalog.base import Profile


class Template(Profile):
    """One `LLMTemplate`: patterns are fnmatch globs over full module paths."""

    model_type: str
    kv_layers: tuple[str, ...]
    q_layers: tuple[str, ...]
    gate_up_layers: tuple[str, ...]
    exclude_layers: tuple[str, ...]
    algorithms: tuple[str, ...] = Field(description="algorithms with a built-in configuration")
    file2file_converters: bool = False
    builtin: bool = True
    source: str
