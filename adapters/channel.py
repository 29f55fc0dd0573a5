"""JSON messages over a socket, one a line: how driver, host and run process talk.

The channel is a descriptor of its own, so that nothing a framework prints can be
taken for a message.
"""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Any

LIMIT = 1 << 24  # bytes; a longer line is rubbish, not a message


class ChannelError(Exception):
    """The other side hung up, stayed silent past its limit, or sent what is no message."""


class Closed(ChannelError):
    """The other side is gone."""


class Silent(ChannelError):
    """Nothing came within the limit."""


class Channel:
    """One end of a connection that carries JSON objects."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        #: Sent with every message; whoever answers sends that of the message that it answers.
        self.number = 0
        self._pending = b""

    @classmethod
    def pair(cls) -> tuple[Channel, socket.socket]:
        """Return our end and the raw end that another process is going to hold."""
        ours, theirs = socket.socketpair()
        return cls(ours), theirs

    def send(self, message: dict[str, Any], *, descriptor: int | None = None) -> None:
        """Send one message, with an open descriptor beside it where one is given.

        Raises:
            Closed: the other side is gone.
        """
        stamped = {**message, "number": self.number, "sender": os.getpid()}
        line = json.dumps(stamped, separators=(",", ":")).encode() + b"\n"
        try:
            if descriptor is None:
                self._end.sendall(line)
            else:
                sent = socket.send_fds(self._end, [line], [descriptor])
                self._end.sendall(line[sent:])
        except OSError as error:
            raise Closed(str(error)) from error

    def receive(self, seconds: float | None = None) -> dict[str, Any]:
        """Return the next message; wait at most so many seconds for it.

        Raises:
            Closed, Silent, ChannelError: no message came, or something that is none.
        """
        return self.receive_with_descriptor(seconds)[0]

    def receive_with_descriptor(
        self, seconds: float | None = None
    ) -> tuple[dict[str, Any], int | None]:
        """As `receive`, with the descriptor that came beside the message."""
        deadline = None if seconds is None else time.monotonic() + seconds
        descriptors: list[int] = []
        while b"\n" not in self._pending:
            self._end.settimeout(
                None if deadline is None else max(deadline - time.monotonic(), 0.001)
            )
            try:
                chunk, received, _, _ = socket.recv_fds(self._end, 1 << 16, 1)
            except TimeoutError:
                raise Silent(f"nothing came within {seconds:g} s") from None
            except OSError as error:
                raise Closed(str(error)) from error
            descriptors += received
            if not chunk:
                raise Closed("the other side hung up")
            self._pending += chunk
            if len(self._pending) > LIMIT:
                raise ChannelError(f"a message of more than {LIMIT} bytes")
        line, self._pending = self._pending.split(b"\n", 1)
        try:
            message = json.loads(line)
        except ValueError:
            raise ChannelError(f"not a message: {line[:80]!r}") from None
        if not isinstance(message, dict):
            raise ChannelError(f"not a message: {line[:80]!r}")
        self.number = message.get("number", 0)
        return message, descriptors[0] if descriptors else None

    def close(self) -> None:
        """Close this end."""
        self._end.close()
