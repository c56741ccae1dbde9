"""
A chat's history, and the commands that change it.
"""

from __future__ import annotations

from cdk_sagemaker_llm.client.requests import Message

HELP = """\
/system TEXT  set what the model is told first; without a text, show it
/clear        forget the messages, but not the system message
/exit         end the chat, as Ctrl-D does
//TEXT        send a message that begins with a slash
Ctrl-C        stop an answer; what has come of it stays in the history"""
ENDINGS = ("/exit", "/quit")


class Conversation:
    """
    What was said so far.

    Args:
        system: What the model is told first; empty for nothing.
    """

    def __init__(self, system: str = "") -> None:
        self.system = system
        self._said: list[Message] = []

    def asking(self, text: str) -> list[Message]:
        """
        Return the messages that ask for the next answer.
        """
        first = [{"role": "system", "content": self.system}] if self.system else []
        return [*first, *self._said, {"role": "user", "content": text}]

    def keep(self, text: str, answer: str) -> None:
        """
        Keep a message and its answer.
        """
        # A model may write halves of characters, which no request can carry.
        whole = answer.encode("utf-8", "replace").decode()
        self._said.append({"role": "user", "content": text})
        self._said.append({"role": "assistant", "content": whole})

    def obey(self, line: str) -> str:
        """
        Carry out a command; return what to tell the user.
        """
        name, _, rest = line.partition(" ")
        rest = rest.strip()
        if name == "/help":
            return HELP
        if name == "/clear":
            self._said.clear()
            return "the messages are forgotten"
        if name == "/system" and rest:
            self.system = rest
            return "the system message is set"
        if name == "/system":
            return self.system or "there is no system message"
        return f"{name} is no command; /help lists them, //{line[1:]} sends it"
