"""
A run of ten seconds with figures that can be told by hand.
"""

from __future__ import annotations

from cdk_sagemaker_llm.load.measured import UNFINISHED, Measured, Record
from cdk_sagemaker_llm.load.result import LoadResult
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.simulation.histogram import Histogram

BEGIN = 1_800_187_200.0
RECORDS = [
    # Before it was measured; ends in the first second.
    Record(BEGIN - 0.5, 1.0, 0.25, 7, 3),
    *(Record(BEGIN + number, 2.0, 0.5, 10, 5) for number in range(6)),
    Record(BEGIN + 6.0, 4.0, 1.0, 20, 5),
    # Ends after the measured time: a latency, but no throughput.
    Record(BEGIN + 9.5, 1.0, 0.5, 10, 5),
    Record(BEGIN + 7.0, 0.5, failure="ModelError 503"),
    Record(BEGIN + 9.0, 60.0, 2.0, 3, failure=UNFINISHED),
    # After it was measured.
    Record(BEGIN + 10.0, 1.0, 0.5, 10, 5),
]


def histogram(*seconds: float) -> Histogram:
    """
    Make a histogram.
    """
    made = Histogram()
    made.add(seconds)
    return made


def run_of(cpu: float = 0.25) -> LoadResult:
    """
    Make the run.
    """
    measured = Measured(
        records=list(RECORDS),
        gaps=histogram(0.1, 0.1, 0.2),
        delays={1: histogram(*[0.001] * 98, 0.002, 0.008)},
        cpus={1: cpu},
        messages={"ModelError 503": "no room <here>"},
    )
    return LoadResult(
        settings=LoadSettings(endpoint="chat", users=3, prompts=("secret",)),
        begin=BEGIN,
        end=BEGIN + 10,
        measured=measured,
    )
