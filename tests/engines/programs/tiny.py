"""
A language model of a few hundred kilobytes: random, but for one sentence that it knows.

Whatever it is asked, it begins to say the sentence; after a word of it, it goes on. So
what a real engine has to answer is known, and yet is generated token by token, with
probabilities that are not certain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float32]

CONTEXT = 256
WIDTH, LAYERS, HEADS, KEY_HEADS, INNER = 64, 2, 4, 2, 128
BEGIN, END, USER, ASSISTANT, SYSTEM = SPECIAL = (
    "<s>",
    "</s>",
    "<|user|>",
    "<|assistant|>",
    "<|system|>",
)
TEMPLATE = (
    "<s>{% for message in messages %}<|{{ message['role'] }}|>"
    "{{ message['content'] }}</s>{% endfor %}<|assistant|>"
)
# Words are one token each; the rest of the sentence, such as a character of two bytes
# and one of four, is a token for each byte.
_WORDS = ("The", " cat", " sat", " on", " the", " mat", " in", " K", " and", " purrs")
_SENTENCE = (*_WORDS[:8], *"öln,", *_WORDS[8:], *" 😀.")
# How much surer the model is of the sentence than of anything else, and how uneven
# everything else is.
_SURE, _UNEVEN, _SMALL = 1.0, 0.15, 0.02


@dataclass(frozen=True, slots=True)
class TinyModel:
    """
    Its vocabulary and its weights, by the names that transformers has for them.

    Args:
        tokens: The vocabulary, in the order of the ids, as byte-level BPE spells it.

        merges: Which two parts make a longer one, the first first.

        weights: The tensors.
    """

    tokens: list[str]
    merges: list[tuple[str, str]]
    weights: dict[str, Weights]


def tiny_model() -> TinyModel:
    """
    Make the model, the same one each time.
    """
    merges = _merges()
    letters = _letters()
    joined = list(dict.fromkeys(left + right for left, right in merges))
    tokens = [*SPECIAL, *letters.values(), *joined]
    return TinyModel(tokens, merges, _weights(tokens))


def _letters() -> dict[int, str]:
    """
    Return how byte-level BPE spells each byte: as itself if it can be seen.
    """
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    unseen = [byte for byte in range(256) if byte not in seen]
    spelt = {byte: chr(byte) for byte in seen}
    spelt |= {byte: chr(256 + number) for number, byte in enumerate(unseen)}
    return dict(sorted(spelt.items()))


def _spelt(text: str) -> str:
    letters = _letters()
    return "".join(letters[byte] for byte in text.encode())


def _merges() -> list[tuple[str, str]]:
    # From left to right, so that no merge of one word splits another.
    found = []
    for word in map(_spelt, _WORDS):
        found += [(word[:end], word[end]) for end in range(1, len(word))]
    return list(dict.fromkeys(found))


def _said() -> list[str]:
    """
    Return the tokens of the sentence and its end, no two of them alike.
    """
    said: list[str] = []
    for part in _SENTENCE:
        said += [_spelt(part)] if part in _WORDS else list(_spelt(part))
    return [*said, END]


def _weights(tokens: list[str]) -> dict[str, Weights]:
    random = np.random.default_rng(7)

    def drawn(*shape: int, scale: float = _SMALL) -> Weights:
        return random.normal(scale=scale, size=shape).astype(np.float32)

    said = _said()
    read, written = drawn(len(tokens), WIDTH), drawn(len(tokens), WIDTH, scale=_UNEVEN)
    # Each token of the sentence has a direction of its own, which its successor listens
    # to; all others share one, which the first token listens to.
    for number, token in enumerate(tokens):
        known = token in said[:-1]
        direction = said.index(token) if known else WIDTH - 1
        read[number, direction] += 1
        if token in said:
            before = (said.index(token) - 1) % WIDTH
            written[number, before] += _SURE
    weights = {
        "model.embed_tokens.weight": read,
        "model.norm.weight": np.ones(WIDTH, np.float32),
        "lm_head.weight": written,
    }
    for layer in range(LAYERS):
        narrow = WIDTH // HEADS * KEY_HEADS
        shapes = {
            "self_attn.q_proj": (WIDTH, WIDTH),
            "self_attn.k_proj": (narrow, WIDTH),
            "self_attn.v_proj": (narrow, WIDTH),
            "self_attn.o_proj": (WIDTH, WIDTH),
            "mlp.gate_proj": (INNER, WIDTH),
            "mlp.up_proj": (INNER, WIDTH),
            "mlp.down_proj": (WIDTH, INNER),
        }
        for name, shape in shapes.items():
            weights[f"model.layers.{layer}.{name}.weight"] = drawn(*shape)
        for name in ("input_layernorm", "post_attention_layernorm"):
            one = np.ones(WIDTH, np.float32)
            weights[f"model.layers.{layer}.{name}.weight"] = one
    return weights
