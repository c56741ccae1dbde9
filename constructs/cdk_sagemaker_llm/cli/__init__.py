"""
The command ``sagemaker-llm``.

What belongs here reads arguments and files and prints; what it prints is computed in
the rooms below.
"""

from __future__ import annotations

import importlib
import inspect
import sys

# A subcommand's module is imported when it is asked for, or when help lists them all.
_SUBCOMMANDS = {
    "benchmark": "cdk_sagemaker_llm.cli.benchmark",
    "chat": "cdk_sagemaker_llm.cli.chat",
    "check": "cdk_sagemaker_llm.cli.check",
    "invoke": "cdk_sagemaker_llm.cli.invoke",
    "load-test": "cdk_sagemaker_llm.cli.load_test",
    "local": "cdk_sagemaker_llm.cli.local",
    "permissions": "cdk_sagemaker_llm.cli.permissions",
    "plan": "cdk_sagemaker_llm.cli.plan",
    "simulate": "cdk_sagemaker_llm.cli.simulate",
    "stream": "cdk_sagemaker_llm.cli.stream",
}
_EXTRAS = {
    "benchmark": "load",
    "chat": "cli,client",
    "invoke": "cli,client",
    "load-test": "load",
    "local": "local",
    "stream": "cli,client",
}


def main() -> None:
    """
    Run the subcommand that the arguments name.
    """
    try:
        import typer  # noqa: PLC0415 - an extra: its absence is a message
    except ImportError:
        sys.exit(
            "sagemaker-llm needs typer; install it with: "
            f"pip install 'cdk-sagemaker-llm[{_extra()}]'"
        )
    app = typer.Typer(
        name="sagemaker-llm",
        help="Large language models on Amazon SageMaker.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    wanted = [name for name in sys.argv[1:2] if name in _SUBCOMMANDS]
    for name in wanted or _SUBCOMMANDS:
        importlib.import_module(_SUBCOMMANDS[name]).register(app)
    for command in app.registered_commands:
        command.help = _flowing(inspect.getdoc(command.callback) or "")
    app()


def _flowing(text: str) -> str:
    # Where the source breaks a line, a narrow terminal would break it once more.
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _extra() -> str:
    # Some need more than the other subcommands.
    return _EXTRAS.get("".join(sys.argv[1:2]), "cli")


def _root() -> None:
    """
    Large language models on Amazon SageMaker.
    """
