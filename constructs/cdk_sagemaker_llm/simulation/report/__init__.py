"""
What a run comes to, in plain sentences.
"""

from __future__ import annotations

from cdk_sagemaker_llm.simulation.report.sentences import Section, report

__all__ = ["Section", "report"]
