"""
Prompts of exactly so many tokens, by tokenizers that are made on the spot.
"""

from __future__ import annotations

import random
import string
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE, WordLevel
from tokenizers.pre_tokenizers import ByteLevel, Split, Whitespace
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import BpeTrainer

from cdk_sagemaker_llm.load.prompts import EVERYDAY, Prompts
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.load.tokens import TokenWriter, tokenizer_of, writer_of


def of_words() -> Tokenizer:
    """
    Make one with a token for each word, and one for the beginning of a text.
    """
    numbers = {word: number for number, word in enumerate(["[UNK]", "<s>", *EVERYDAY])}
    made = Tokenizer(WordLevel(numbers, unk_token="[UNK]"))  # noqa: S106 - a word
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    return made


def of_pairs() -> Tokenizer:
    """
    Make one of bytes that are joined, as most models have.
    """
    made = Tokenizer(BPE())
    made.pre_tokenizer = ByteLevel(add_prefix_space=False)
    made.decoder = ByteLevelDecoder()
    # Half of the words, so that others are several tokens.
    lesson = [" ".join(EVERYDAY[::2])] * 20
    made.train_from_iterator(lesson, BpeTrainer(vocab_size=400, show_progress=False))
    return made


def of_letters() -> Tokenizer:
    """
    Make one with a token for each letter, which no word is.
    """
    numbers = {
        letter: at for at, letter in enumerate(["?", *string.ascii_lowercase, " "])
    }
    made = Tokenizer(WordLevel(numbers, unk_token="?"))  # noqa: S106 - a letter
    made.pre_tokenizer = Split("", "isolated")
    return made


@pytest.mark.parametrize("make", [of_words, of_pairs, of_letters])
@pytest.mark.parametrize("has_specials", [True, False])
@pytest.mark.parametrize("length", [2, 3, 10, 1000])
def test_prompts_have_exactly_so_many_tokens(
    make: Callable[[], Tokenizer], length: int, *, has_specials: bool
) -> None:
    """
    As the tokenizer counts the whole, with its special tokens or without.
    """
    tokenizer = make()
    writer = TokenWriter(tokenizer, has_specials=has_specials)
    chance = random.Random(5)  # noqa: S311 - no secret
    texts = [writer.write(chance, length) for _ in range(5)]

    for text in texts:
        encoded = tokenizer.encode(text, add_special_tokens=has_specials)
        assert len(encoded.ids) == length
    assert length < 10 or len({*texts}) == 5


def test_special_tokens_count_where_the_server_counts_them() -> None:
    """
    Of a text that of its beginning; a chat's come from its template.
    """
    tokenizer, chance = of_words(), random.Random(0)  # noqa: S311 - no secret
    text = TokenWriter(tokenizer, has_specials=True).write(chance, 10)
    chat = TokenWriter(tokenizer, has_specials=False).write(chance, 10)

    assert (len(text.split()), len(chat.split())) == (9, 10)


@pytest.mark.parametrize("length", [1, 2])
def test_a_prompt_has_a_word_at_least(length: int) -> None:
    """
    Beside the token of its beginning.
    """
    writer = TokenWriter(of_words(), has_specials=True)
    text = writer.write(random.Random(0), length)  # noqa: S311 - no secret

    assert len(text.split()) == 1


def test_settings_name_a_file_or_its_folder(tmp_path: Path) -> None:
    """
    What it says of cutting and filling up is for training.
    """
    made = of_words()
    made.enable_truncation(5)
    made.enable_padding(length=7)
    made.save(str(tmp_path / "tokenizer.json"))
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        settings = LoadSettings(endpoint="chat", prompt_words="12", tokenizer=str(path))
        text = Prompts(settings, 0, writer_of(settings)).draw()
        chat = replace(settings, is_chat=True)

        assert len(text.split()) == 11
        assert len(Prompts(chat, 0, writer_of(chat)).draw().split()) == 12
    assert writer_of(LoadSettings(endpoint="chat")) is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.json", "there is no file .*none.json; name the model's tokenizer.json"),
        (".", "there is no file .*tokenizer.json; name the model's tokenizer.json"),
        ("other.json", "other.json is no tokenizer.json: "),
    ],
)
def test_what_is_no_tokenizer_is_refused(
    name: str, message: str, tmp_path: Path
) -> None:
    """
    With what is.
    """
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")

    with pytest.raises(ValueError, match=message):
        tokenizer_of(str(tmp_path / name))


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With the extra that brings it.
    """
    monkeypatch.setitem(sys.modules, "tokenizers", None)

    with pytest.raises(
        ValueError, match=r"pip install 'cdk-sagemaker-llm\[tokenize\]'"
    ):
        tokenizer_of("tokenizer.json")


def test_a_tokenizer_that_counts_nothing_is_refused() -> None:
    """
    Instead of looking for ever.
    """
    writer = TokenWriter(Tokenizer(BPE()), has_specials=False)

    with pytest.raises(ValueError, match="counts no text as 3 tokens; leave it out"):
        writer.write(random.Random(0), 3)  # noqa: S311 - no secret
    with pytest.raises(ValueError, match="reads no English: .*UNK"):
        TokenWriter(Tokenizer(WordLevel({"?": 0})), has_specials=False)
