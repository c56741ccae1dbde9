"""
The options that ``load-test`` and ``benchmark`` share, declared once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.cli.loading import options
from cdk_sagemaker_llm.cli.simulating import parsing
from cdk_sagemaker_llm.load.prompts import Prompts, read_prompts
from cdk_sagemaker_llm.load.settings import LoadSettings

# Settings, and parts of an objective, whose options have other names than their own.
_FLAGS = {
    # An argument, and no option.
    "endpoint": "endpoint",
    "first_token": "--ttft-objective",
    "is_chat": "--chat",
    "is_streamed": "--stream",
    "latency": "--latency-objective",
    "parameters": "--parameter",
    "workers": "--expect-workers",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """
    What both commands are told of the requests, as it was written.
    """

    component: options.Component = None
    variant: options.Variant = None
    spawn_rate: options.SpawnRate = None
    drain: options.Drain = "60s"
    processes: options.Processes = None
    prompts: options.Prompts = None
    tokenizer: options.Tokenizer = None
    max_new_tokens: options.MaxNewTokens = 50
    parameter: options.Parameter = None
    chat: options.Chat = False
    stream: options.Stream = True
    schema: options.Schema = None
    timeout: options.Timeout = "120s"
    seed: options.Seed = 0
    region: options.Region = None
    endpoint_url: options.EndpointUrl = None

    def settings(self, endpoint: str, **own: Any) -> LoadSettings:  # noqa: ANN401 - LoadSettings' own
        """
        Read it.

        Args:
            endpoint: The endpoint's name.

            own: The settings that a command has for itself.

        Raises:
            ValueError: If it is no load.
        """
        found = LoadSettings(
            endpoint=endpoint,
            component=self.component,
            variant=self.variant,
            spawn_rate=self.spawn_rate,
            drain=parsing.seconds("--drain", self.drain),
            processes=self.processes,
            prompts=read_prompts(self.prompts) if self.prompts else (),
            tokenizer=None if self.tokenizer is None else str(self.tokenizer),
            max_new_tokens=self.max_new_tokens,
            parameters=parameters_of(self.parameter or ()),
            is_chat=self.chat,
            is_streamed=self.stream,
            schema=self.schema,
            timeout=parsing.seconds("--timeout", self.timeout),
            seed=self.seed,
            region=self.region,
            endpoint_url=self.endpoint_url,
            **own,
        )
        if found.tokenizer is not None:
            _try_tokenizer(found)
        return found


def flag_of(setting: str) -> str:
    """
    Name the option of a setting.
    """
    return _FLAGS.get(setting, f"--{setting.replace('_', '-')}")


def parameters_of(given: Sequence[str]) -> Mapping[str, Any]:
    """
    Read parameters as they are written on the command line: ``name=value``.

    Raises:
        ValueError: If one is written otherwise.
    """
    found = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise ValueError(f"--parameter must be such as top_k=5, got {text!r}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            # A word needs no quotes.
            found[name] = value
    return found


def _try_tokenizer(settings: LoadSettings) -> None:
    from cdk_sagemaker_llm.load.tokens import writer_of  # noqa: PLC0415 - an extra

    try:
        write = writer_of(settings)
        Prompts((), settings.prompt_words, settings.seed, write).draw()
    except ValueError as fault:
        raise ValueError(f"--tokenizer {settings.tokenizer}: {fault}") from fault
