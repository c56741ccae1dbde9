"""
The subcommands: a module each, found by its name; names in ``_`` are what they share.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


_BEFORE = ("new", "check", "support", "plan", "choose", "simulate", "permissions")
_ACCOUNT = ("preflight", "doctor", "adopt")
_ASKING = ("invoke", "stream", "chat", "load_test", "benchmark")
# In the order in which help lists them.
_GROUPS: Mapping[str, str] = {
    **dict.fromkeys(_BEFORE, "Before deploying"),
    "local": "Run locally",
    **dict.fromkeys(_ACCOUNT, "Look into an account"),
    **dict.fromkeys(_ASKING, "Talk to an endpoint"),
}

# What options were called before 0.2, which takes the words that all commands share.
_OLD_WORDS: Mapping[str, Mapping[str, str]] = {
    "benchmark": {"run-time": "duration"},
    "check": {"backend": "serving"},
    "load-test": {"arrival-rate": "rate", "run-time": "duration"},
    "plan": {"instance": "instance-type", "plot": "png"},
    "simulate": {"think": "think-time"},
}


class MisuseError(ValueError):
    """
    A path or an argument cannot be used.
    """


def add_command(app: typer.Typer, name: str) -> None:
    """
    Add a subcommand: the function of its module's own name.
    """
    module = importlib.import_module(f"{__name__}.{name}")
    command = name.replace("_", "-")
    settings = {
        "token_normalize_func": _renaming(command),
        **getattr(module, "CONTEXT_SETTINGS", {}),
    }
    decorate = app.command(
        command, context_settings=settings, rich_help_panel=_GROUPS.get(name)
    )
    decorate(getattr(module, name))


def place_of(name: str) -> int:
    """
    Return where a subcommand stands in the help; one without a group is the last.
    """
    names = list(_GROUPS)
    return names.index(name) if name in names else len(names)


def _renaming(command: str) -> Callable[[str], str]:
    """
    Make what reads an option by its old word, and says the new one once.
    """
    renamed = dict(_OLD_WORDS.get(command, {}))
    said: set[str] = set()

    def rename(word: str) -> str:
        if word in renamed and word not in said:
            said.add(word)
            import typer  # noqa: PLC0415 - an extra

            typer.echo(
                f"sagemaker-llm {command}: --{word} is --{renamed[word]} now; the old "
                "word goes with the next release",
                err=True,
            )
        return renamed.get(word, word)

    return rename
