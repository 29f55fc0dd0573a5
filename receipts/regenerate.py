"""Write the committed receipts anew (`make receipts`), and the tables made of them.

python receipts/regenerate.py           replay every row of rows.toml, then the tables
python receipts/regenerate.py --rest    replay the rows that have no receipt of what is here
python receipts/regenerate.py --table   the tables alone, from the receipts that are there
"""

from __future__ import annotations

import sys
from pathlib import Path

from mbt.cli import main
from replay.conformance.measurements import measurements
from replay.rows import Row, read_rows

HERE = Path(__file__).resolve().parent
WORDS = {"": ["--run", "--every", "--again"], "--rest": ["--run", "--every"], "--table": []}


def rows() -> list[Row]:
    """The rows of rows.toml."""
    return read_rows(HERE)


def table() -> str:
    """TABLE.md, from the receipts alone."""
    return measurements(rows())


if __name__ == "__main__":
    chosen = WORDS[" ".join(sys.argv[1:])]
    sys.exit(main(["conformance", *chosen, "--write", "--receipts", str(HERE)]))
