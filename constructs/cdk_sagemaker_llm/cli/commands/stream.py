"""
``sagemaker-llm stream``: a prompt in, tokens out as they arrive.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import closing

from cdk_sagemaker_llm.cli.commands import _asking as asking
from cdk_sagemaker_llm.cli.commands._options import grouped
from cdk_sagemaker_llm.cli.output.answers import (
    Answering,
    Paper,
    answer_facts,
    put_line,
    token_facts,
)
from cdk_sagemaker_llm.client.answers import Token

# What is installed to have it.
EXTRA = "cli,client"


@grouped
def stream(
    endpoint: asking.EndpointName,
    prompt: asking.Prompt = None,
    *,
    file: asking.PromptFile = None,
    chat: asking.AsChat = False,
    schema: asking.TheSchema = None,
    question: asking.QuestionOptions,
    as_json: asking.AsJsonLines = False,
) -> None:
    """
    Ask an endpoint, and print the answer token by token as it arrives.

    Standard output has the answer alone; the rest is said on standard error. With
    --json it has a line for each token ({"token": ...}) and a last one
    ({"answer": ...}, or {"error": ...}).

    Exits with 0 if it answered; 1 if there is no answer, or not the whole of it; 2 on
    misuse, 130 after Ctrl-C.
    """
    with asking.ending("stream", as_json=as_json):
        text = asking.read_prompt(prompt, file)
        options = question.options()
        with question.connect(endpoint, schema) as client:
            if chat:
                tokens = client.stream_chat(text, **options)
            else:
                tokens = client.stream(text, **options)
            if as_json:
                _print_json(tokens)
            else:
                _print(tokens, details=question.details)


def _print_json(tokens: Generator[Token]) -> None:
    answering = Answering()
    with closing(tokens):
        for token in tokens:
            answering.add(token)
            put_line(json.dumps({"token": token_facts(token)}))
    facts = answer_facts(answering.answer, answering.seconds, answering.first)
    put_line(json.dumps({"answer": facts}))


def _print(tokens: Generator[Token], *, details: bool) -> None:
    answering, paper = Answering(), Paper(shaded=details)
    try:
        with closing(tokens):
            for token in tokens:
                answering.add(token)
                paper.token(token)
    finally:
        paper.end()
    paper.remark(answering.answer, answering.seconds, answering.first)
