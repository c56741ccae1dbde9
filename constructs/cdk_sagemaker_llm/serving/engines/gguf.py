"""
What the names of GGUF files and repositories say.

The names of types are llama.cpp's own (``ggml-org/llama.cpp``, ``src/llama-quant.cpp``
and ``ggml/include/ggml.h``); publishers put them into the names of files, in front of
``.gguf`` or of a shard's number, and ``llama-server`` reads them behind a repository.
"""

from __future__ import annotations

import re

GGUF_SUFFIX = ".gguf"
_TYPE = re.compile(
    r"(?:\A|[-._/:])"
    r"(?P<type>F32|F16|BF16|MXFP4(?:_MOE)?|NVFP4|TQ[12]_0"
    r"|I?Q\d(?:_\d|_K(?:_(?:XXS|XS|XL|S|M|L))?|_(?:XXS|XS|NL|S|M)))"
    r"(?=\Z|[-._])",
    re.IGNORECASE,
)
_SAYS_SO = re.compile(r"(?:\A|[-._/])gguf(?=\Z|[-._:/])", re.IGNORECASE)


def gguf_type_of(*names: str | None) -> str | None:
    """
    Return the quantization type that a file or a repository names, such as
    ``Q4_K_M``; ``None`` where none does.

    Args:
        names: What may name it, what goes first standing first: a file such as
            ``qwen3-8b-Q4_K_M-00001-of-00002.gguf``, or a repository with its type such
            as ``Qwen/Qwen3-8B-GGUF:Q4_K_M``. What is left out is ``None``.
    """
    for name in names:
        # Of a path the file counts, and of it what stands last.
        found = list(_TYPE.finditer(_last_part(name))) if name else []
        if found:
            return found[-1]["type"].upper()
    return None


def names_gguf(name: str) -> bool:
    """
    Whether a file, or a repository on the Hub, says of itself that it is of GGUF.
    """
    return name.lower().endswith(GGUF_SUFFIX) or _SAYS_SO.search(name) is not None


def _last_part(name: str) -> str:
    if name.lower().endswith(GGUF_SUFFIX):
        return name.rpartition("/")[2][: -len(GGUF_SUFFIX)]
    _, mark, behind = name.rpartition(":")
    return mark + behind if mark else name.rpartition("/")[2]
