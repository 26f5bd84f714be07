"""Makes the slow twins in tests/oracles importable as `oracles`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
