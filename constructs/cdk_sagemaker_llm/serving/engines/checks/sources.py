"""
Where the rules of the engines' environments are from.
"""

from __future__ import annotations

PARSERS = "the parsers of the published releases of vLLM and SGLang"
ENTRY_POINTS = "the entry points of aws/deep-learning-containers"
SUPERVISOR = "model-hosting-container-standards 0.1.12 to 0.1.16, run"
CONFIGURATION = "the configuration classes of vLLM, which bound their fields"
