"""`python -m mbt`: the command line."""

import sys

from mbt.cli import main

sys.exit(main())
