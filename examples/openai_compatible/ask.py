"""
Ask the endpoint of ``app.py`` in OpenAI's messages, whole and streamed.

    python ask.py "What is the weather in Basel?"

What comes back is OpenAI's too: a text, or the tool that the model wants called. It
needs boto3 beside the library, and no CDK.
"""

from __future__ import annotations

import sys

from cdk_sagemaker_llm.client import LlmClient

PARAMETER = "/llm/assistant"
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a town",
        "parameters": {
            "type": "object",
            "properties": {"town": {"type": "string"}},
            "required": ["town"],
        },
    },
}


def main(question: str) -> None:
    """
    Print what the model wants called, if anything, and its answer as it comes.
    """
    messages = [
        {"role": "system", "content": "You are brief."},
        {"role": "user", "content": question},
    ]
    with LlmClient.from_ssm(PARAMETER) as client:
        answer = client.chat(messages, tools=[WEATHER], max_new_tokens=128)
        for call in answer.tool_calls:
            print(call)
        print(answer.finish_reason, answer.usage)
        for token in client.stream_chat(messages, max_new_tokens=128):
            print(token.text, end="", flush=True)
        print()


if __name__ == "__main__":
    main(*sys.argv[1:])
