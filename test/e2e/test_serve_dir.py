# SPDX-License-Identifier: Apache-2.0
"""`godwit serve DIR`: no configuration, any user, several at once."""
import os

from support.server import IS_ROOT


def serve(instance, directory):
    instance.start(directory, "-p", instance.port)
    return instance


def test_plain_files(user_godwit):
    user_godwit.file("index.html", "plain")
    serve(user_godwit, user_godwit.www)
    assert user_godwit.get("/").text == "plain"


def test_without_a_home(user_godwit):
    """Users such as nobody have no directory of their own; the commands find the instance all the same."""
    user_godwit.file("index.html", "plain")
    user_godwit.env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    serve(user_godwit, user_godwit.www)
    uid = user_godwit.one("server").uid
    place = os.path.dirname(user_godwit.status()["socket"])
    if not os.path.isdir(f"/run/user/{uid}"):
        assert place == f"/dev/shm/godwit-{uid}/{user_godwit.name}"
    assert os.stat(os.path.dirname(place)).st_mode & 0o077 == 0
    assert user_godwit.get("/").text == "plain"
    user_godwit.stop()
    assert not os.path.exists(place)


def test_php_is_found(user_godwit):
    user_godwit.file("index.php", "<?php echo 'php ', 6 * 7;")
    serve(user_godwit, user_godwit.www)
    assert user_godwit.get("/").text == "php 42"


def test_several_at_once(make_godwit):
    instances = []
    for text in ("first", "second", "third"):
        instance = make_godwit()
        instance.file("index.html", text)
        instances.append((serve(instance, instance.www), text))
    for instance, text in instances:
        assert instance.get("/").text == text
    instances[0][0].stop()
    assert instances[1][0].get("/").text == "second"


def test_listens_on_the_loopback_only(user_godwit):
    user_godwit.file("index.html", "x")
    serve(user_godwit, user_godwit.www)
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    ours = [r[1] for r in rows if r[3] == "0A" and int(r[1].split(":")[1], 16) == user_godwit.port]
    assert ours == [f"0100007F:{user_godwit.port:04X}"]


def test_port_in_use_is_explained(user_godwit, make_godwit):
    user_godwit.file("index.html", "x")
    serve(user_godwit, user_godwit.www)
    other = make_godwit()
    done = other.run("serve", other.www, "-p", user_godwit.port, "-n", other.name, check=False)
    assert done.returncode == 1
    assert str(user_godwit.port) in done.stderr and "in use" in done.stderr.lower()


def test_missing_directory_is_explained(godwit):
    done = godwit.run("serve", godwit.base / "nowhere", "-n", godwit.name, check=False)
    assert done.returncode != 0 and "nowhere" in done.stderr


def test_prints_its_address(user_godwit):
    user_godwit.file("index.html", "x")
    serve(user_godwit, user_godwit.www)
    user_godwit.stderr.wait(rf"http://127\.0\.0\.1:{user_godwit.port}")


def test_never_runs_scripts_as_root(godwit):
    godwit.file("index.php", "<?php echo posix_geteuid();")
    serve(godwit, godwit.www)
    assert int(godwit.get("/").text) != 0 or not IS_ROOT
