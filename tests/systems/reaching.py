"""Adapters that try to leave the machine, each by another way, and swallow that they cannot."""

import contextlib
import socket

from adapters.reference import Reference

ELSEWHERE = "192.0.2.1"  # a documentation address: nobody answers there


class Reaching(Reference):
    def start(self):
        with contextlib.suppress(OSError):
            self.reach()
        return super().start()


class ByTcp(Reaching):
    def reach(self):
        socket.create_connection((ELSEWHERE, 443), timeout=1)


class ByTcp6(Reaching):
    def reach(self):
        with socket.socket(socket.AF_INET6) as end:
            end.connect(("2001:db8::1", 443))


class ByUdp(Reaching):
    def reach(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(b"metrics", (ELSEWHERE, 8125))


class ByMessage(Reaching):
    def reach(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendmsg([b"metrics"], [], 0, (ELSEWHERE, 8125))


class ByName(Reaching):
    def reach(self):
        socket.getaddrinfo("telemetry.example", 443)


class ByOldName(Reaching):
    def reach(self):
        socket.gethostbyname("telemetry.example")


class Backwards(Reaching):
    def reach(self):
        socket.gethostbyaddr(ELSEWHERE)


class OnlyWhenCrashed(Reference):
    def recover(self):
        with contextlib.suppress(OSError):
            socket.getaddrinfo("crash-reports.example", 443)
        return super().recover()


class StaysAtHome(Reaching):
    """Everything that does not leave the machine is let through."""

    def reach(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(b"x", ("127.0.0.1", 9))
        socket.getaddrinfo("localhost", 80)
        socket.getaddrinfo(None, 80)
        one, other = socket.socketpair()
        one.sendmsg([b"x"])
        assert other.recv(1) == b"x"
        (self.run.folder / "it-did.txt").write_text("")

    def public_state(self):
        assert (self.run.folder / "it-did.txt").exists()
        return super().public_state()
