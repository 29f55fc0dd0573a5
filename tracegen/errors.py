"""The two ways in which a command ends without a verdict."""


class MbtError(Exception):
    """Wrong use or bad input (exit code 2). The message names the file and the next step."""


class MachineryError(Exception):
    """The machinery failed: a checker, a worker, a limit (exit code 3). Never a verdict."""
