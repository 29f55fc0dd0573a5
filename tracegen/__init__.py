"""From a TLA+ module to traces: checker runs, the parser, the state graph, coverage."""
