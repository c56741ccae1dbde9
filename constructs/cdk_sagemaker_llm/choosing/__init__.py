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
    from cdk_sagemaker_llm.choosing.choosing import Progress, choose
    from cdk_sagemaker_llm.choosing.hosts import Host, Tenant
    from cdk_sagemaker_llm.choosing.question import Objective, Question, Speedups
    from cdk_sagemaker_llm.choosing.scaling import Hours, Scaling
    from cdk_sagemaker_llm.choosing.setups import Refusal, Setup
    from cdk_sagemaker_llm.choosing.sharing import Sharing, choose_together

__all__ = [
    "Answer",
    "Candidate",
    "Choice",
    "Host",
    "Hours",
    "Objective",
    "Progress",
    "Question",
    "Refusal",
    "Result",
    "Scaling",
    "Sensitivity",
    "Setup",
    "Sharing",
    "Speedups",
    "Tenant",
    "choose",
    "choose_together",
]

_HOMES = {
    "Answer": "choosing.answer",
    "Candidate": "choosing.candidates",
    "Choice": "choosing.answer",
    "Host": "choosing.hosts",
    "Hours": "choosing.scaling",
    "Objective": "choosing.question",
    "Progress": "choosing.choosing",
    "Question": "choosing.question",
    "Refusal": "choosing.setups",
    "Result": "choosing.candidates",
    "Scaling": "choosing.scaling",
    "Sensitivity": "choosing.answer",
    "Setup": "choosing.setups",
    "Sharing": "choosing.sharing",
    "Speedups": "choosing.question",
    "Tenant": "choosing.hosts",
    "choose": "choosing.choosing",
    "choose_together": "choosing.sharing",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
