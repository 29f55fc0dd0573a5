"""docs/tutorial.md, walked from an empty folder: what it says to write and type, in its order."""

import re
from pathlib import Path

from pages import assert_prints

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "tutorial.md"
FINISHED = REPOSITORY / "examples" / "lru_cache"


def test_the_tutorial_can_be_followed_and_ends_with_the_files_of_the_example(tmp_path):
    parts = re.split(r"```(\w+)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    written, commands = {}, 0
    for before, language, block in zip(parts[::3], parts[1::3], parts[2::3], strict=False):
        if language == "console":
            assert_prints(tmp_path, block)
            commands += block.count("$ mbt ")
            continue
        paragraph = before.rstrip().rpartition("\n\n")[2]
        name = re.findall(r"`(\w+\.(?:tla|cfg|toml|py))`", paragraph)[-1]
        appended = "ppend to" in paragraph
        assert appended == (name in written), f"{name}: written first, then appended to"
        written[name] = written[name] + "\n" + block if appended else block
        (tmp_path / name).write_text(written[name])
    assert commands >= 8
    assert written == {file.name: file.read_text() for file in FINISHED.iterdir() if file.suffix}
