"""Folders of receipts for tests, made of committed ones."""

import shutil
from pathlib import Path

from replay.receipts import MANIFEST, read_manifest
from replay.rows import read_rows

COMMITTED = Path(__file__).parent.parent / "receipts"


def copy_committed(root):
    """Copy what the rows of a folder name from the committed receipts, manifest and all."""
    entries = read_manifest(COMMITTED)
    lines = []
    for row in read_rows(root):
        shutil.copytree(COMMITTED / row.name, row.folder)
        lines += [f"{entries[p]}  {p}" for p in entries if p.startswith(f"{row.name}/")]
    (root / MANIFEST).write_text("".join(f"{line}\n" for line in sorted(lines)))
