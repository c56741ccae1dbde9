"""
The command ``sagemaker-llm``.

What belongs here reads arguments and files and prints; what it prints is computed in
the rooms below.
"""

from __future__ import annotations

import errno
import gc
import inspect
import os
import pkgutil
import re
import sys

from cdk_sagemaker_llm.cli import commands

_NAME = "sagemaker-llm"
_MISUSE, _INTERRUPTED = 2, 130
# With Python's own 700 a check would look for garbage fifty times, and find next to
# none.
_OBJECTS_BETWEEN_COLLECTIONS = 100_000
# A full disk, a used quota, and a file as large as the shell lets it become.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Set by a shell that asks what a line may go on with.
_COMPLETION = "_SAGEMAKER_LLM_COMPLETE"
# What a subcommand needs beyond the others, where it says so.
_EXTRA = re.compile(r'^EXTRA = "(.*)"$', re.MULTILINE)


def main() -> None:
    """
    Run the subcommand that the arguments name.
    """
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    try:
        try:
            _run()
        finally:
            # What is still to be written fails here, and not as Python ends.
            sys.stdout.flush()
            # The process ends: what it leaves need not be searched for garbage.
            gc.freeze()
    except KeyboardInterrupt:
        # While it was still being loaded; a command of its own says more.
        sys.exit(_INTERRUPTED)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        sys.stderr.write(f"sagemaker-llm: the output cannot be written: {error}\n")
        # As Python ends it would try, and fail, to write the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _run() -> None:
    if sys.argv[-1:] == ["-h"] and "--" not in sys.argv:
        # Not a second name of the option, which would narrow all of the help.
        sys.argv[-1] = "--help"
    if sys.argv[1:] == ["--version"]:
        # Without all that the others load.
        _print_version(is_wanted=True)
    # Each module is a subcommand, but for what they share.
    found = [name for _, name, _ in pkgutil.iter_modules(commands.__path__)]
    modules = [name for name in found if not name.startswith("_")]
    named = _words()[:1]
    names = [name for name in modules if name.replace("_", "-") in named]
    try:
        import typer  # noqa: PLC0415 - an extra: its absence is a message
    except ImportError:
        extra = _extra(names[0]) if names else "cli"
        sys.stderr.write(
            "sagemaker-llm needs typer; install it with: "
            f"pip install 'cdk-sagemaker-llm[{extra}]'\n"
        )
        sys.exit(_MISUSE)
    app = typer.Typer(
        name=_NAME,
        help="Large language models on Amazon SageMaker.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )

    def root(
        *,
        is_version: bool = typer.Option(
            False,  # noqa: FBT003 - likewise
            "--version",
            help="Print the version, and that is all.",
            is_eager=True,
            callback=_print_version,
        ),
    ) -> None:
        """
        Large language models on Amazon SageMaker.
        """

    app.callback()(root)
    # A subcommand is imported when it is asked for, or when help lists them all.
    for name in names or sorted(modules, key=commands.place_of):
        commands.add_command(app, name)
    for command in app.registered_commands:
        # Where the source breaks a line, a narrow terminal would break it once more.
        parts = (inspect.getdoc(command.callback) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(part.split()) for part in parts)
    app(prog_name=_NAME)


def _words() -> list[str]:
    # A shell that asks for completions passes the words of its line in a variable.
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS")
    if _COMPLETION in os.environ and line:
        return line.split()[1:]
    return sys.argv[1:]


def _extra(module: str) -> str:
    # Its text, since it cannot be imported.
    from importlib.resources import files  # noqa: PLC0415 - seldom needed

    file = files(commands).joinpath(f"{module}.py")
    found = _EXTRA.search(file.read_text(encoding="utf-8"))
    return found[1] if found else "cli"


def _print_version(*, is_wanted: bool) -> None:
    if is_wanted:
        from cdk_sagemaker_llm import __version__  # noqa: PLC0415 - seldom needed

        sys.stdout.write(f"sagemaker-llm {__version__}\n")
        sys.exit()
