"""From traces to verdicts: the replayer, comparison, judging, explanation, receipts."""
