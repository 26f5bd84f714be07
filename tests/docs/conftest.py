"""The scripts in docs/ are no part of the package; here they are importable, as they are for each other."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
sys.path.insert(0, str(Path(__file__).parent))  # and `pages`
