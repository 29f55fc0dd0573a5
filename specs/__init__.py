"""The TLA+ modules, their .cfg files, and one TOML a module."""
