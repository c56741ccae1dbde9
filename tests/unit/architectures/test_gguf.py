"""
Bits of a weight in GGUF files.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.architectures.weight_format import (
    gguf_bits,
    gguf_bytes,
)
from cdk_sagemaker_llm.catalog._data import load

# Llama 3.1 8B: all, and those of linear layers in its blocks.
ALL, LINEAR = 8_030_261_248, 6_979_321_856


@pytest.mark.parametrize(
    ("gguf_type", "gib"),
    # tools/quantize/README.md and quantize.cpp of llama.cpp.
    [
        ("IQ1_S", 1.87),
        ("Q2_K", 2.95),
        ("Q3_K_M", 3.74),
        ("Q4_0", 4.34),
        ("Q4_1", 4.78),
        ("Q4_K_M", 4.58),
        ("Q5_0", 5.21),
        ("Q5_1", 5.65),
        ("Q6_K", 6.14),
        ("Q8_0", 7.95),
        ("F16", 14.96),
        ("F32", 29.92),
    ],
)
def test_llama_3_1_8b_has_the_size_that_llama_cpp_states(
    gguf_type: str, gib: float
) -> None:
    """
    To a hundredth of a GiB.
    """
    usual, _ = gguf_bytes(gguf_type, LINEAR, ALL)

    assert usual / 2**30 == pytest.approx(gib, abs=0.006)


# Bits that each type's own blocks have, less what the embedding has more of.
FINEST_FIRST = [
    "F32 BF16 F16",
    "Q8_0 Q6_K Q5_1 Q5_K_M Q5_0 Q5_K_S Q4_1 Q4_K_M IQ4_NL Q4_K_S Q4_0 IQ4_XS",
    "Q3_K_L Q3_K_M IQ3_M IQ3_S Q3_K_S IQ3_XS IQ3_XXS Q2_K Q2_K_S",
    "IQ2_M IQ2_S IQ2_XS IQ2_XXS IQ1_M IQ1_S",
]


def test_types_stand_in_the_order_of_their_bits() -> None:
    """
    All that there are.
    """
    names = " ".join(FINEST_FIRST).split()
    bits = [gguf_bits(name) for name in names]

    assert bits == sorted(bits, reverse=True)
    assert sorted(names) == sorted(load("gguf_types.json")["bits"])


@pytest.mark.parametrize(
    ("short", "meant"),
    [("Q3_K", "Q3_K_M"), ("q4_k", "Q4_K_M"), ("Q5_K", "Q5_K_M")],
)
def test_short_names_are_those_of_the_middle(short: str, meant: str) -> None:
    """
    As llama.cpp takes them.
    """
    assert gguf_bits(short) == gguf_bits(meant)


def test_embeddings_may_keep_more_bits() -> None:
    """
    Those of Q6_K, but never fewer than the rest.
    """
    kept = ALL - LINEAR

    assert gguf_bytes("Q4_K_M", LINEAR, ALL)[1] == int(
        (LINEAR * 4.8944 + kept * 6.5633) / 8
    )
    usual, most = gguf_bytes("Q8_0", LINEAR, ALL)
    assert most == pytest.approx(usual, abs=1)


def test_some_types_are_another() -> None:
    """
    As llama.cpp takes them.
    """
    assert gguf_bits("q4_k") == gguf_bits("Q4_K_M") == 4.8944


@pytest.mark.parametrize("wrong", ["Q4_K_N", "", "awq", "Ω"])
def test_fails_if_a_type_is_unknown(wrong: str) -> None:
    """
    Names the nearest ones, or all.
    """
    with pytest.raises(ValueError, match="gguf_type must be such as "):
        gguf_bits(wrong)
