"""`solve export`: hand a confirmed plan over."""

from pathlib import Path
from typing import Annotated

import typer

from solver.cli.options import ProfilesOption
from solver.errors import BadInputError


def export(
    plan: Annotated[Path, typer.Argument(help="A quant_plan.json.")] = Path("quant_plan.json"),
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="To quantize quark-cli, quantize-quark, quark-python or quark-template; to serve vllm or sglang.",
        ),
    ] = "quark-cli",
    draft: Annotated[bool, typer.Option("--draft", help="Look at an unconfirmed plan's command.")] = False,
    model_dir: Annotated[str | None, typer.Option(help="Checkpoint's folder or hub id; by default the plan's.")] = None,
    output_dir: Annotated[str | None, typer.Option(help="Folder for the quantized model.")] = None,
    min_kv_scale: Annotated[float | None, typer.Option(help="Least scale of the KV cache.", min=0.0)] = None,
    kv_cache_post_rope: Annotated[bool, typer.Option("--kv-cache-post-rope", help="Quantize keys after RoPE.")] = False,
    attention_dtype: Annotated[str | None, typer.Option(help="fp8: quantize attention's product.")] = None,
    multi_gpu: Annotated[bool, typer.Option("--multi-gpu", help="Spread the model while quantizing.")] = False,
    file2file: Annotated[bool, typer.Option("--file2file", help="Quantize file by file, without loading all.")] = False,
    model_export: Annotated[list[str] | None, typer.Option(help="hf_format, onnx or gguf; repeatable.")] = None,
    algo_config: Annotated[
        list[str] | None,
        typer.Option(
            "--algo-config",
            "--algorithm-config",
            help="JSON of an algorithm's own settings, or a template file with several: FILE, or ALGORITHM=FILE.",
        ),
    ] = None,
    profiles: ProfilesOption = None,
) -> None:
    """Print the command or script that carries a confirmed plan out: to quantize, and to serve."""
    from solver.api import (
        ExportOptions,
        attention_note,
        defect_notes,
        export_plan,
        read_config_file,
        read_plan,
        standard_note,
        unexpressed,
    )
    from solver.catalog import Catalog
    from solver.report.console import messages

    if attention_dtype not in {None, "fp8"}:
        raise BadInputError(f"{attention_dtype!r} is not known.", where="--attention-dtype", mend="Quark knows fp8.")
    unknown = set(model_export or ()) - {"hf_format", "onnx", "gguf"}
    if unknown:
        raise BadInputError(
            f"{', '.join(sorted(unknown))} is not known.",
            where="--model-export",
            mend="hf_format, onnx or gguf.",
        )
    catalog = Catalog(profiles)
    options = ExportOptions(
        model_dir=model_dir,
        output_dir=output_dir,
        min_kv_scale=min_kv_scale,
        kv_cache_post_rope=kv_cache_post_rope,
        attention_dtype=attention_dtype,
        multi_gpu=multi_gpu,
        file2file_quantization=file2file,
        model_export=tuple(model_export or ()),
        algorithm_config_files=tuple(read_config_file(text, catalog) for text in algo_config or ()),
    )
    confirmed = read_plan(plan)
    text = export_plan(confirmed, to, options, catalog=catalog, draft=draft, file=str(plan))
    typer.echo(text, nl=False)
    notes = (
        unexpressed(confirmed, to),
        attention_note(confirmed, options, catalog),
        standard_note(confirmed, to, options, catalog),
        *defect_notes(confirmed, to, catalog),
    )
    for note in notes:
        if note is not None:
            messages().print(f"note: {note}", markup=False)
