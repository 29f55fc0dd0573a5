"""The commands, a file each: `mbt NAME` is the click command NAME of the module NAME.

A module whose docstring starts with `mbt NAME: ` is one, and what follows is its line in the help.
"""
