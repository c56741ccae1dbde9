"""
How many bits a weight takes in a GGUF file, by the file's type.

The bits are those of Llama 3.1 8B in llama.cpp's tools/quantize/README.md, scales and
the tensors of other types included; of the types that its table lacks, they follow
from the sizes of Llama 3 8B in tools/quantize/quantize.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping

from cdk_sagemaker_llm.wording import any_of, nearest

GGUF_BITS: Mapping[str, float] = {
    "IQ1_S": 2.0042,
    "IQ1_M": 2.1460,
    "IQ2_XXS": 2.3824,
    "IQ2_XS": 2.5882,
    "IQ2_S": 2.7403,
    "IQ2_M": 2.9294,
    "Q2_K_S": 2.9697,
    "Q2_K": 3.1593,
    "IQ3_XXS": 3.2548,
    "IQ3_XS": 3.4977,
    "Q3_K_S": 3.6429,
    "IQ3_S": 3.6606,
    "IQ3_M": 3.7628,
    # 3.74 GiB for 8,030,261,248 parameters.
    "Q3_K_M": 4.0007,
    "Q3_K_L": 4.2979,
    "IQ4_XS": 4.4597,
    # 4.34 GiB.
    "Q4_0": 4.6424,
    "Q4_K_S": 4.6672,
    "IQ4_NL": 4.6818,
    "Q4_K_M": 4.8944,
    # 4.78, 5.21 and 5.65 GiB.
    "Q4_1": 5.1131,
    "Q5_0": 5.5731,
    "Q5_K_S": 5.5704,
    "Q5_K_M": 5.7036,
    "Q5_1": 6.0438,
    "Q6_K": 6.5633,
    "Q8_0": 8.5008,
    "F16": 16.0005,
    "BF16": 16.0005,
    "F32": 32.0,
}
# What llama.cpp takes for another (quantize.cpp).
_ALIASES = {"Q3_K": "Q3_K_M", "Q4_K": "Q4_K_M", "Q5_K": "Q5_K_M"}
# Embedding and head keep at least Q6_K's bits in the mixed types below it.
_KEPT_BITS = 6.5633


def gguf_bits(gguf_type: str) -> float:
    """
    Return the bits of a weight, on average of a model's.

    Raises:
        ValueError: If the type is unknown; names the nearest ones.
    """
    name = gguf_type.upper()
    found = GGUF_BITS.get(_ALIASES.get(name, name))
    if found is None:
        near = nearest(name, list(GGUF_BITS)) or list(GGUF_BITS)
        raise ValueError(f"gguf_type must be such as {any_of(near)}, got {gguf_type!r}")
    return found


def gguf_bytes(gguf_type: str, quantizable: int, parameters: int) -> tuple[int, int]:
    """
    Return the bytes of all weights: as of the model that the bits are of, and at most.

    A model whose embedding is a larger part of it than Llama's is has more bits.

    Args:
        gguf_type: The file's type.

        quantizable: The weights of linear layers in the blocks.

        parameters: All parameters.
    """
    bits = gguf_bits(gguf_type)
    usual = int(parameters * bits / 8)
    kept = (parameters - quantizable) * max(bits, _KEPT_BITS)
    return usual, max(usual, int((quantizable * bits + kept) / 8))
