"""A cache of Python's, driven by the model LruCache."""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any, ClassVar

from mbt import Adapter, Option, Run


class FifoCache:
    """The planted fault: what might be written instead of functools.lru_cache."""

    def __init__(self, capacity: int, function: Callable[[str], str]) -> None:
        self.capacity, self.function = capacity, function
        self.kept: dict[str, str] = {}

    def __call__(self, key: str) -> str:
        if key not in self.kept:
            if len(self.kept) == self.capacity:
                del self.kept[next(iter(self.kept))]  # the oldest; a hit made it no younger
            self.kept[key] = self.function(key)
        return self.kept[key]

    def cache_info(self) -> SimpleNamespace:
        return SimpleNamespace(currsize=len(self.kept))


class PythonCache(Adapter):
    """A function that gives back its argument, behind a cache."""

    options: ClassVar[Mapping[str, Option]] = {
        "fault": Option("none", ("none", "fifo"), "fifo: a cache that is written by hand"),
    }

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        capacity, by_hand = run.workflow["capacity"], run.options["fault"] == "fifo"
        cache: Any = partial(FifoCache, capacity) if by_hand else lru_cache(capacity)
        self.cached = cache(self.compute)
        self.last = {"key": "", "hit": False}

    def compute(self, key: str) -> str:
        self.computed = True
        return key

    def Lookup(self, k: str) -> None:
        self.computed = False
        key = self.system(lambda: self.cached(k))
        self.last = {"key": key, "hit": not self.computed}

    def observe(self) -> dict[str, Any]:
        return {"size": self.cached.cache_info().currsize, "last": self.last}
