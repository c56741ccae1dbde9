"""
The reference of the command line, from its parser: a page a command.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import typer
from typer.main import get_command

from cdk_sagemaker_llm.cli import commands
from tools.site.docstrings import markdown

FOLDER = "reference/commands"
_INDEX = """\
# Command line

`sagemaker-llm COMMAND --help` prints the same in a terminal.
`pip install 'cdk-sagemaker-llm[cli]'` brings what the command needs; a command that \
needs more says which extra brings it.
"""
_TABLE = "| name | what it is | default |\n| --- | --- | --- |\n"


def names() -> list[str]:
    """
    Return the subcommands' names.
    """
    found = (name for _, name, _ in pkgutil.iter_modules(commands.__path__))
    return sorted(name.replace("_", "-") for name in found if not name.startswith("_"))


def pages() -> Iterator[tuple[str, str]]:
    """
    Yield each page: its path below the site's source, and its text.
    """
    lines = [
        f"- [`sagemaker-llm {name}`]({name}.md): {first(name)}" for name in names()
    ]
    yield f"{FOLDER}/index.md", _INDEX + "\n" + "\n".join(lines) + "\n"
    for name in names():
        yield f"{FOLDER}/{name}.md", page(name)


def page(name: str) -> str:
    """
    Return the page of a subcommand.
    """
    command = _command(name)
    context = command.make_context(name, [], resilient_parsing=True)
    pieces = " ".join(command.collect_usage_pieces(context))
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    arguments = [_row(one) for one in shown if one.param_type_name == "argument"]
    options = [_row(one) for one in shown if one.param_type_name == "option"]
    parts = [
        "---\nsearch:\n  boost: 3\n---",
        f"# `sagemaker-llm {name}`",
        f"```sh\nsagemaker-llm {name} {pieces}\n```",
        markdown(_help(name)),
    ]
    if extra := getattr(_module(name), "EXTRA", None):
        parts.append(f"It needs `pip install 'cdk-sagemaker-llm[{extra}]'`.")
    if arguments:
        parts.append(f"## Arguments\n\n{_TABLE}" + "\n".join(arguments))
    if options:
        parts.append(f"## Options\n\n{_TABLE}" + "\n".join(options))
    return "\n\n".join(parts) + "\n"


def first(name: str) -> str:
    """
    Return the first sentence of a subcommand's help.
    """
    return " ".join(_help(name).split("\n\n")[0].split())


def parameters(name: str) -> list[Any]:
    """
    Return the parser's own arguments and options of a subcommand.
    """
    return list(_command(name).params)


def _module(name: str) -> Any:  # noqa: ANN401 - a module
    return importlib.import_module(f"{commands.__name__}.{name.replace('-', '_')}")


def _help(name: str) -> str:
    return inspect.getdoc(getattr(_module(name), name.replace("-", "_"))) or ""


def _command(name: str) -> Any:  # noqa: ANN401 - typer has a click of its own
    app = typer.Typer(add_completion=False)
    commands.add_command(app, name.replace("-", "_"))
    return get_command(app)


def _row(one: Any) -> str:  # noqa: ANN401 - likewise
    spelled = [*one.opts, *one.secondary_opts]
    metavar = one.type.name.upper() if not getattr(one, "is_flag", False) else ""
    if one.param_type_name == "argument":
        spelled = [one.metavar or one.human_readable_name]
        metavar = ""
    choices = getattr(one.type, "choices", None)
    if choices:
        metavar = "|".join(map(str, choices))
    default = one.default
    shown = "*required*" if one.required else ""
    if default not in (None, False, (), []) and not callable(default):
        shown = f"`{default}`"
    head = ", ".join(f"`{each}`" for each in spelled)
    head += f" `{metavar}`" if metavar else ""
    help_ = " ".join((getattr(one, "help", "") or "").split())
    return " | ".join([f"| {head.replace('|', chr(92) + '|')}", help_, shown]) + " |"
