"""
The app's settings: read once, and wrong ones named.
"""

from __future__ import annotations

import pytest

from stacks.settings import Settings


def read(**context: object) -> Settings:
    """
    Read settings from a context that has these keys.
    """
    return Settings.from_context(context.get)


def test_the_defaults_are_the_reference() -> None:
    """
    Without a context the reference deployments are defined, for no account.
    """
    settings = read()

    assert (settings.account, settings.region) == (None, None)
    assert str(settings.mistral_instance_type) == "ml.g5.12xlarge"
    assert str(settings.mixtral_instance_type) == "ml.p4d.24xlarge"
    assert str(settings.llama_instance_type) == "ml.p4d.24xlarge"
    assert (settings.mistral_min_instances, settings.mistral_max_instances) == (1, 4)
    assert (settings.llama_instances, settings.llama_max_instances) == (1, 2)
    assert settings.llama_copies == 8


def test_the_command_line_gives_text() -> None:
    """
    ``-c llama_copies=4`` is text, a number in cdk.json is one.
    """
    assert read(llama_copies="4").llama_copies == 4
    assert read(llama_copies=4).llama_copies == 4
    assert read(region=" eu-west-1 ").region == "eu-west-1"


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"llama_copies": "many"}, "llama_copies: must be a whole number, got 'many'"),
        ({"llama_copies": "0"}, "llama_copies: must be at least 1, got 0"),
        ({"mistral_instance_type": "g5"}, "mistral_instance_type: unknown instance"),
        ({"region": " "}, "region: must not be empty"),
    ],
    ids=str,
)
def test_fails_with_the_settings_name(context: dict[str, object], message: str) -> None:
    """
    The name is what the user typed.
    """
    with pytest.raises(ValueError, match=message):
        read(**context)


def test_fails_with_all_wrong_settings_at_once() -> None:
    """
    One synth shows every fault.
    """
    with pytest.raises(ValueError, match="llama_copies: must be") as raised:
        read(llama_copies="x", mixtral_instance_type="y")

    assert "mixtral_instance_type: unknown" in str(raised.value)
