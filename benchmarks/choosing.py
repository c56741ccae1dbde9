"""
What choosing costs: over a thousand candidates under a week's traffic.

The model is one with many quantized copies, and the load a day's curve, so that every
instance type, split, number of copies and way of scaling is a candidate.
"""

from __future__ import annotations

import argparse
import statistics
import time

from cdk_sagemaker_llm.choosing import Answer, Objective, Question, choose
from cdk_sagemaker_llm.simulation import DayCurve, Lengths

BAR = 60
LEAST = 1000


def question() -> Question:
    """
    A week of chats, from one to ten requests a second.
    """
    return Question(
        model="Qwen/Qwen2.5-7B-Instruct",
        traffic=DayCurve.between(1, 10, lengths=Lengths(prompt=500, answer=150)),
        objective=Objective(ttft=1, tpot=0.05),
        scale_to_zero=True,
    )


def candidates_of(answer: Answer) -> int:
    """
    Return how many were looked at, those without a price or beaten at once included.
    """
    return len(answer.choices) + len(answer.unpriced) + len(answer.refusals)


def main() -> None:
    """
    Print the table as Markdown.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="counted rounds")
    rounds = parser.parse_args().rounds
    walls, seconds, first = [], [], None
    for _ in range(rounds):
        began, busy = time.perf_counter(), time.process_time()
        answer = choose(question())
        walls.append(time.perf_counter() - began)
        seconds.append(time.process_time() - busy)
        names = [one.candidate.name for one in answer.choices]
        if first is not None and first != names:
            raise SystemExit("the same question had two answers")
        first = names
    count = candidates_of(answer)
    if count < LEAST:
        raise SystemExit(f"{count} candidates are fewer than {LEAST}")
    print(f"Choosing, medians of {rounds} rounds.\n")
    print("| what | time | computing time | bar |")
    print("| --- | --- | --- | --- |")
    print(
        f"| {count:,} candidates over a week | {statistics.median(walls):.1f} s "
        f"({min(walls):.1f} to {max(walls):.1f}) | {statistics.median(seconds):.1f} s "
        f"| {BAR} s |"
    )


if __name__ == "__main__":
    main()
