"""
The reports that are opened, and the commands that make them.
"""

from __future__ import annotations

# {page} is the file to write; {app}, {other} are synthesised examples; {chat} is an
# endpoint of the embedded AWS, and {failing} one with a name as long as they come, a
# third of whose requests fail.
REPORTS: dict[str, str] = {
    "load test": "load-test {chat} --users 6 --duration 5s --html {page}",
    "load test that fails": (
        "load-test {failing} --rate 20 --duration 4s --no-stream --html {page}"
    ),
    "benchmark": "benchmark {chat} --users 2,4,8 --duration 3s --html {page}",
    "simulation": "simulate {app} --html {page}",
    "simulation of a week": (
        "simulate {app} --traffic day --duration 7d --method aggregate --html {page}"
    ),
    "simulation of many models": "simulate {other} --duration 30h --html {page}",
    "choice": "choose Qwen/Qwen3-8B --rate 1/s --duration 10m --html {page}",
    "choice for an app": (
        "choose {app} --rate 1/s --duration 10m --instance-type ml.g6e.xlarge "
        "--instance-type ml.g5.12xlarge --html {page}"
    ),
    "simulations compared": "simulate {app} --compare-with max=2 --html {page}",
}
