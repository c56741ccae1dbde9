"""
The command ``sagemaker-llm``.

What belongs here reads arguments and files and prints; what it prints is computed in
the rooms below.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys

from cdk_sagemaker_llm.cli import commands

# What a subcommand needs beyond the others, where it says so.
_EXTRA = re.compile(r'^EXTRA = "(.*)"$', re.MULTILINE)


def main() -> None:
    """
    Run the subcommand that the arguments name.
    """
    modules = _modules()
    names = [name for name in sys.argv[1:2] if name in modules]
    try:
        import typer  # noqa: PLC0415 - an extra: its absence is a message
    except ImportError:
        extra = _extra(modules[names[0]]) if names else "cli"
        sys.exit(
            "sagemaker-llm needs typer; install it with: "
            f"pip install 'cdk-sagemaker-llm[{extra}]'"
        )
    app = typer.Typer(
        name="sagemaker-llm",
        help="Large language models on Amazon SageMaker.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    # A subcommand is imported when it is asked for, or when help lists them all.
    for name in names or modules:
        importlib.import_module(modules[name]).register(app)
    for command in app.registered_commands:
        command.help = _flowing(inspect.getdoc(command.callback) or "")
    app()


def _modules() -> dict[str, str]:
    # Each module is a subcommand, but for what they share.
    return {
        name.replace("_", "-"): f"{commands.__name__}.{name}"
        for _, name, _ in pkgutil.iter_modules(commands.__path__)
        if not name.startswith("_")
    }


def _extra(module: str) -> str:
    # Its text, since it cannot be imported.
    from importlib.resources import files  # noqa: PLC0415 - seldom needed

    file = files(commands).joinpath(f"{module.rpartition('.')[2]}.py")
    found = _EXTRA.search(file.read_text(encoding="utf-8"))
    return found[1] if found else "cli"


def _flowing(text: str) -> str:
    # Where the source breaks a line, a narrow terminal would break it once more.
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _root() -> None:
    """
    Large language models on Amazon SageMaker.
    """
