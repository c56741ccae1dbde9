"""
How little it takes to scale, counted in the guides' own code.
"""

from __future__ import annotations

import ast

from tests.examples.test_examples import PASTED

_HOST, _COPIES = "InferenceComponentEndpoint", "auto_scale_copy_count"
_SCALED, _TO_ZERO = "max_capacity=4", "max_capacity=4, min_capacity=0"


def _pasted(call: str) -> str:
    """
    Return the guides' code that has a call.
    """
    found: list[str] = [code for code in PASTED if f"{_COPIES}({call})" in code]
    (code,) = found
    return code


def _lines(code: str) -> list[str]:
    """
    Return what stands in the stack: from the host to the end.
    """
    lines = [line for line in code.splitlines() if line]
    first = next(i for i, line in enumerate(lines) if _HOST + "(" in line)
    return lines[first : lines.index("app.synth()")]


def _keywords(code: str, called: str) -> dict[str, object]:
    (call,) = [
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call)
        and called in (getattr(node.func, "id", ""), getattr(node.func, "attr", ""))
    ]
    return {
        str(one.arg): ast.literal_eval(one.value)
        for one in call.keywords
        if isinstance(one.value, ast.Constant)
    }


def test_one_model_with_concurrency_scaling_takes_six_lines() -> None:
    """
    A host, a model on it, and what its copies follow.
    """
    lines = _lines(_pasted(_SCALED))

    assert len(lines) <= 6
    assert max(map(len, lines)) <= 88
    assert "scale_on_concurrency" in lines[-1]


def test_scale_to_zero_takes_an_argument_more_on_each() -> None:
    """
    One on the host, one on the component, and nothing else.
    """
    code, scaled = _pasted(_TO_ZERO), _pasted(_SCALED)

    for called, argument in ((_HOST, "min_instance_count"), (_COPIES, "min_capacity")):
        expected = {**_keywords(scaled, called), argument: 0}
        assert _keywords(code, called) == expected
