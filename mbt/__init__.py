"""mbt: model-based testing of resume semantics."""
