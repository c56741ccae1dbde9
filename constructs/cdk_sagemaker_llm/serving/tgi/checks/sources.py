"""
Where the rules of TGI are from.
"""

from __future__ import annotations

OPTIONS = "launcher/src/main.rs of TGI"
LAUNCHER = f"ArgumentValidation in {OPTIONS}"
ENTRY_POINT = "sagemaker-entrypoint.sh of TGI"
MODELS = "server/text_generation_server/models of TGI"
