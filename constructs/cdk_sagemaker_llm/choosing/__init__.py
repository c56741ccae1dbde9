"""
Choosing a deployment: which instance type, engine settings, copies and scaling keep a
latency objective at the least cost.

What belongs here puts together what the rooms below compute: what loads, what fits, how
fast it is, what scaling does, and what it costs. It makes no resources.
"""

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._lazily import lazily

if TYPE_CHECKING:
    from cdk_sagemaker_llm.choosing.answer import Answer, Choice, Sensitivity
    from cdk_sagemaker_llm.choosing.candidates import Candidate, Result
    from cdk_sagemaker_llm.choosing.choosing import choose
    from cdk_sagemaker_llm.choosing.question import Objective, Question, Speedups
    from cdk_sagemaker_llm.choosing.scaling import Hours, Scaling
    from cdk_sagemaker_llm.choosing.setups import Refusal, Setup

__all__ = [
    "Answer",
    "Candidate",
    "Choice",
    "Hours",
    "Objective",
    "Question",
    "Refusal",
    "Result",
    "Scaling",
    "Sensitivity",
    "Setup",
    "Speedups",
    "choose",
]

_HOMES = {
    "Answer": "choosing.answer",
    "Candidate": "choosing.candidates",
    "Choice": "choosing.answer",
    "Hours": "choosing.scaling",
    "Objective": "choosing.question",
    "Question": "choosing.question",
    "Refusal": "choosing.setups",
    "Result": "choosing.candidates",
    "Scaling": "choosing.scaling",
    "Sensitivity": "choosing.answer",
    "Setup": "choosing.setups",
    "Speedups": "choosing.question",
    "choose": "choosing.choosing",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
