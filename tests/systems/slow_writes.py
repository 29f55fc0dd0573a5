"""LangGraph's functional API over a checkpointer that takes its time to store a task's result."""

import time

from adapters.langgraph_functional import RETURN, LangGraphFunctional


class SlowWrites(LangGraphFunctional):
    def saver(self):
        saver = super().saver()
        put_writes = saver.put_writes

        def late(config, writes, *rest):
            if any(channel == RETURN for channel, _ in writes):
                time.sleep(0.3)
            put_writes(config, writes, *rest)

        saver.put_writes = late
        return saver
