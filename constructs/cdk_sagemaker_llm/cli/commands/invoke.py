"""
``sagemaker-llm invoke``: a prompt in, the whole answer out.
"""

from __future__ import annotations

import json
import time

from cdk_sagemaker_llm.cli.commands import _asking as asking
from cdk_sagemaker_llm.cli.commands._options import grouped
from cdk_sagemaker_llm.cli.output.answers import (
    Paper,
    answer_facts,
    put_line,
    token_facts,
)

# What is installed to have it.
EXTRA = "cli,client"


@grouped
def invoke(
    endpoint: asking.EndpointName,
    prompt: asking.Prompt = None,
    *,
    file: asking.PromptFile = None,
    chat: asking.AsChat = False,
    schema: asking.TheSchema = None,
    question: asking.QuestionOptions,
    as_json: asking.AsJson = False,
) -> None:
    """
    Ask an endpoint, and print the whole answer.

    Standard output has the answer alone; the rest is said on standard error.

    Exits with 0 if it answered; 1 if there is no answer, or not the whole of it; 2 on
    misuse, 130 after Ctrl-C.
    """
    with asking.ending("invoke", as_json=as_json):
        text = asking.read_prompt(prompt, file)
        options = question.options()
        with question.connect(endpoint, schema) as client:
            began = time.monotonic()
            if chat:
                answer = client.chat(text, **options)
            else:
                answer = client.generate(text, **options)
        seconds = time.monotonic() - began
        if as_json:
            facts = answer_facts(answer, seconds)
            facts["tokens"] = [token_facts(token) for token in answer.tokens]
            put_line(json.dumps(facts))
        else:
            paper = Paper(shaded=question.details)
            paper.whole(answer)
            paper.end()
            paper.remark(answer, seconds)
