"""`python -m brisk_fleet`."""

import sys

from brisk_fleet.cli import main

sys.exit(main())
