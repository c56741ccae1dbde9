"""
What ``invoke``, ``stream`` and ``chat`` share: whom to ask, for what, and how it ends.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cdk_sagemaker_llm.cli.commands import MisuseError
from cdk_sagemaker_llm.cli.commands._account import is_near, session_of
from cdk_sagemaker_llm.cli.commands._options import (
    Component,
    EndpointUrl,
    Profile,
    Region,
    Variant,
)
from cdk_sagemaker_llm.cli.output.answers import (
    error_facts,
    explain,
    harmless,
    note,
    put_line,
)
from cdk_sagemaker_llm.client.errors import LlmError
from cdk_sagemaker_llm.client.requests import Options, Schema
from cdk_sagemaker_llm.client.runtime import Timeouts
from cdk_sagemaker_llm.client.wire.step import WireFormat

if TYPE_CHECKING:
    from cdk_sagemaker_llm.client.llm_client import LlmClient

ANSWERED, FAILED, MISUSE, STOPPED = 0, 1, 2, 130
_INSTALL = (
    "asking needs boto3; install it with: pip install 'cdk-sagemaker-llm[cli,client]'"
)
# The client speaks of its arguments, which have other names here.
_OPTIONS = {
    "component": "--component",
    "endpoint_url": "--endpoint-url",
    "read": "--timeout",
    "temperature": "--temperature",
    "variant": "--variant",
    "wait_for_capacity": "--wait",
}

EndpointName = Annotated[
    str, typer.Argument(metavar="ENDPOINT", help="The endpoint's name.")
]
Prompt = Annotated[
    str | None,
    typer.Argument(
        metavar="PROMPT", help="The prompt, - for standard input; omitted with --file."
    ),
]
PromptFile = Annotated[
    Path | None,
    typer.Option(
        "--file",
        help="A file with the prompt, less one newline at its end; if omitted, the "
        "argument is the prompt.",
    ),
]
AsChat = Annotated[
    bool, typer.Option("--chat", help="Send the prompt as the message of a chat.")
]
Parameter = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=JSON",
        help="Anything else in the container's words, as top_p=0.9 or "
        "'model=\"tiny\"'; may be given again.",
    ),
]
TheSchema = Annotated[
    Schema | None,
    typer.Option(
        help="How the container wants a prompt. If omitted, it is asked with "
        "inputs, and as it says if it refuses them. Chats are the same."
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object, with every token.")
]
AsJsonLines = Annotated[
    bool, typer.Option("--json", help="Print a line of JSON for each token.")
]


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionOptions:
    """
    The options that the three commands share, as they were written.
    """

    component: Component = None
    variant: Variant = None
    max_new_tokens: Annotated[
        int | None,
        typer.Option(
            help="Tokens to write at most; if omitted, the container decides."
        ),
    ] = None
    temperature: Annotated[
        float | None,
        typer.Option(
            help="How freely tokens are chosen, 0 not at all; if omitted, the "
            "container decides."
        ),
    ] = None
    stop: Annotated[
        list[str] | None, typer.Option(help="A text to stop at; may be given again.")
    ] = None
    parameter: Parameter = None
    wire_format: Annotated[
        WireFormat | None,
        typer.Option(
            "--format", help="How it answers; if omitted, that is recognised."
        ),
    ] = None
    region: Region = None
    profile: Profile = None
    endpoint_url: EndpointUrl = None
    wait: Annotated[
        float,
        typer.Option(
            "--wait", help="Seconds to wait for a copy that wakes up from zero."
        ),
    ] = 600.0
    timeout: Annotated[
        float, typer.Option("--timeout", help="Seconds of silence to bear with.")
    ] = 120.0
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Shade tokens by probability, and say why the answer ended, how sure "
            "the model was, and tokens a second.",
        ),
    ] = False

    def options(self) -> Options:
        options: Options = {}
        if self.max_new_tokens is not None:
            options["max_new_tokens"] = self.max_new_tokens
        if self.temperature is not None:
            options["temperature"] = self.temperature
        if self.stop:
            options["stop"] = self.stop
        if self.parameter:
            options["parameters"] = _parameters(self.parameter)
        # Containers that read `inputs` send the details even without it.
        if self.details:
            options["details"] = True
        return options

    def connect(self, endpoint: str, schema: Schema | None) -> LlmClient:
        if not endpoint:
            raise MisuseError("ENDPOINT is empty; name the endpoint")
        try:
            from botocore.config import Config  # noqa: PLC0415 - an extra, and slow to load
            from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - as above
        except ModuleNotFoundError as error:
            raise MisuseError(_INSTALL) from error
        from cdk_sagemaker_llm.client.errors import (  # noqa: PLC0415 - as above
            from_boto,
        )
        from cdk_sagemaker_llm.client.llm_client import (  # noqa: PLC0415 - only now needed
            LlmClient,
        )

        # It is told by on_wait; without a handler Python would print it once more.
        logging.getLogger("cdk_sagemaker_llm.client").addHandler(logging.NullHandler())
        near = is_near(self.endpoint_url)
        direct = Config(proxies={"http": "", "https": ""}) if near else None
        try:
            return LlmClient(
                endpoint,
                self.component,
                variant=self.variant,
                schema=schema,
                format=self.wire_format,
                timeouts=Timeouts(read=self.timeout),
                wait_for_capacity=self.wait,
                on_wait=note,
                endpoint_url=self.endpoint_url,
                session=session_of(self.region, self.profile, self.endpoint_url),
                config=direct,
            )
        except BotoCoreError as error:
            raise from_boto(error) from error
        except ValueError as error:
            raise MisuseError(_as_option(str(error))) from error


def read_prompt(prompt: str | None, file: Path | None) -> str:
    if (prompt is None) == (file is None):
        raise MisuseError("give a prompt, - for standard input, or --file FILE")
    try:
        if file is not None:
            text = file.read_bytes().decode()
        elif prompt == "-":
            text = sys.stdin.buffer.read().decode()
        else:
            return prompt or ""
    except OSError as error:
        raise MisuseError(f"--file {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise MisuseError("the prompt is not UTF-8 text") from error
    return text.removesuffix("\n").removesuffix("\r")


@contextmanager
def ending(command: str, *, as_json: bool) -> Iterator[None]:
    """
    Turn what goes wrong into a message and an exit status.
    """
    try:
        yield
    except KeyboardInterrupt:
        note("\nstopped")
        raise typer.Exit(STOPPED) from None
    except LlmError as error:
        complain(command, error, as_json=as_json)
        raise typer.Exit(FAILED) from error
    except ValueError as error:
        # The client's own, of what is asked, and a MisuseError of how.
        message = _as_option(str(error))
        typer.echo(f"sagemaker-llm {command}: {harmless(message)}", err=True)
        raise typer.Exit(MISUSE) from error


def complain(command: str, error: LlmError, *, as_json: bool) -> None:
    if as_json:
        put_line(json.dumps({"error": error_facts(error)}))
    typer.echo(f"sagemaker-llm {command}: {explain(error)}", err=True)


def _parameters(written: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in written:
        name, equals, value = one.partition("=")
        if not name or not equals:
            raise MisuseError(f"--parameter must be NAME=JSON, got {one}")
        if name in found:
            raise MisuseError(f"--parameter {name} is given twice; give it once")
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise MisuseError(
                f"--parameter {name} must be JSON, got {value}; a text is written in "
                f"""quotes: '{name}="{value}"'"""
            ) from error
    return found


def _as_option(message: str) -> str:
    theirs, _, rule = message.partition(" ")
    return f"{_OPTIONS[theirs]} {rule}" if theirs in _OPTIONS else message
