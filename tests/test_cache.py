"""Entries are whole or not there, whoever makes them and whatever stops them."""

import os
import subprocess
import sys
import time

import pytest

from tracegen.cache import Cache, digest_of, open_cache
from tracegen.errors import MbtError

KEY = "ab" * 32


def entry_of(cache: Cache, text: str = "hello") -> None:
    with cache.filling() as folder:
        (folder / "file").write_text(text)
        assert cache.keep(KEY, folder) is not None


def test_what_is_kept_is_found(tmp_path):
    cache = Cache(tmp_path)
    assert cache.find(KEY) is None
    entry_of(cache)
    found = cache.find(KEY)
    assert found is not None
    assert (found / "file").read_text() == "hello"
    assert cache.size() > 0
    assert not list(tmp_path.glob("mbt-filling-*"))


def test_the_first_of_two_entries_stays(tmp_path):
    cache = Cache(tmp_path)
    entry_of(cache, "first")
    entry_of(cache, "second")
    assert (cache.find(KEY) / "file").read_text() == "first"


def test_what_is_not_kept_goes_away(tmp_path):
    cache = Cache(tmp_path)
    with pytest.raises(KeyboardInterrupt), cache.filling() as folder:
        (folder / "file").write_text("half")
        raise KeyboardInterrupt
    assert cache.find(KEY) is None
    assert not list(tmp_path.glob("mbt-filling-*"))


@pytest.mark.parametrize("damage", ["shorter", "missing", "no sizes", "rubbish sizes"])
def test_a_damaged_entry_is_not_found_and_is_replaced(tmp_path, damage):
    cache = Cache(tmp_path)
    entry_of(cache, "first")
    found = cache.find(KEY)
    if damage == "shorter":
        (found / "file").write_text("fir")
    elif damage == "missing":
        (found / "file").unlink()
    elif damage == "no sizes":
        (found / "sizes.json").unlink()
    else:
        (found / "sizes.json").write_text("[1]")
    assert cache.find(KEY) is None
    entry_of(cache, "second")
    assert (cache.find(KEY) / "file").read_text() == "second"


def test_without_results_nothing_is_found_or_kept(tmp_path):
    entry_of(Cache(tmp_path))
    off = Cache(tmp_path, results=False)
    assert off.find(KEY) is None
    with off.filling() as folder:
        assert tmp_path not in folder.parents
        assert off.keep("cd" * 32, folder) is None
    assert not folder.exists()


def test_a_cache_that_cannot_be_written_stops_nothing(tmp_path):
    (tmp_path / "file").touch()
    cache = Cache(tmp_path / "file" / "cache")
    with cache.filling() as folder:
        (folder / "file").write_text("hello")
        assert cache.keep(KEY, folder) is None
    assert cache.find(KEY) is None


def test_what_killed_processes_left_is_swept_a_day_later(tmp_path):
    old, fresh = tmp_path / "mbt-filling-old", tmp_path / "mbt-filling-fresh"
    for folder in (old, fresh):
        folder.mkdir()
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    entry_of(Cache(tmp_path))
    assert not old.exists()
    assert fresh.exists()


RACER = """
import sys
from pathlib import Path
from tracegen.cache import Cache
cache = Cache(Path(sys.argv[1]))
for number in range(40):
    key = f"{number:064}"
    with cache.filling() as folder:
        for name in "abc":
            (folder / name).write_text(sys.argv[2] * 1000)
        entry = cache.keep(key, folder)
    assert entry is not None, "lost the race and found no entry"
    assert {(entry / name).read_text()[:1] for name in "abc"} in ({"x"}, {"y"}), "mixed"
"""


def test_two_processes_that_make_the_same_entries(tmp_path):
    racers = [
        subprocess.Popen([sys.executable, "-c", RACER, str(tmp_path), who], stderr=subprocess.PIPE)
        for who in "xy"
    ]
    for racer in racers:
        _, said = racer.communicate(timeout=60)
        assert racer.returncode == 0, said.decode()
    cache = Cache(tmp_path)
    assert all(cache.find(f"{number:064}") for number in range(40))


def test_where_the_cache_is(tmp_path, monkeypatch):
    monkeypatch.setenv("MBT_CACHE", str(tmp_path / "named"))
    assert open_cache().root == tmp_path / "named"
    (tmp_path / "named").touch()
    with pytest.raises(MbtError, match="MBT_CACHE names"):
        open_cache()


def test_digests_depend_on_content_alone():
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})
