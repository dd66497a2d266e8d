"""Puts `ai_kit` on the path."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
