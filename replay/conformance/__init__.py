"""The conformance table: cells from receipts, claims, and the paper beside them."""
