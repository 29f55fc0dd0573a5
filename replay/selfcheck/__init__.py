"""The mutation study of the harness."""
