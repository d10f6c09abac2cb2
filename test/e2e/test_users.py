# SPDX-License-Identifier: Apache-2.0
"""Who runs what: as root the server is unprivileged and each app its own user; an ordinary user runs all as himself."""
import json
import os
import pwd

import pytest

from support.server import APP_USER, IS_ROOT, SERVER_USER

WHO = "<?php echo json_encode([posix_geteuid(), posix_getegid(), posix_getgroups()]);"


def name_of(uid: int) -> str:
    return pwd.getpwuid(uid).pw_name


def test_user_mode_runs_everything_as_that_user(user_godwit):
    user_godwit.file("who.php", WHO)
    user_godwit.php()
    uid = json.loads(user_godwit.get("/who.php").text)[0]
    assert uid == (pwd.getpwnam("nobody").pw_uid if IS_ROOT else os.geteuid())
    assert {p.uid for p in user_godwit.processes()} == {uid}


def test_user_mode_refuses_user(user_godwit):
    for text in ("user www-data;\nsite _ { root %(www)s; }\n", "site _ { root %(www)s; app php { user www-data; } }\n"):
        user_godwit.config("listen 127.0.0.1:%(port)d;\n" + text)
        done = user_godwit.run("serve", "-c", user_godwit.conf, "-n", user_godwit.name, check=False)
        assert done.returncode == 1
        assert "user" in done.stderr and "root" in done.stderr, done.stderr


@pytest.fixture
def as_root(godwit):
    """Tests that use it are chosen only when root runs them (conftest.py)."""
    return godwit


def test_roles_have_their_users(as_root):
    as_root.file("who.php", WHO)
    as_root.php(f"workers 1..2; user {APP_USER};")
    uid, gid, groups = json.loads(as_root.get("/who.php").text)
    entry = pwd.getpwnam(APP_USER)
    assert (uid, gid) == (entry.pw_uid, entry.pw_gid) and 0 not in groups
    users = {p.role: name_of(p.uid) for p in as_root.processes()}
    assert users == {"keeper": "root", "server": SERVER_USER, "spawner": APP_USER, "worker": APP_USER}


def test_apps_of_two_users(as_root):
    for name, user in (("a", "nobody"), ("b", "daemon")):
        as_root.file(f"{name}/who.php", WHO)
    as_root.config("""
        listen 127.0.0.1:%(port)d;
        site a.example { root %(www)s/a; app php { user nobody; } }
        site b.example { root %(www)s/b; app php { user daemon; } }
    """)
    as_root.start()
    for host, user in (("a.example", "nobody"), ("b.example", "daemon")):
        assert name_of(json.loads(as_root.get("/who.php", host=host).text)[0]) == user


def test_the_server_cannot_become_root_again(as_root):
    as_root.file("index.html", "x")
    as_root.simple()
    server = as_root.one("server")
    with open(f"/proc/{server.pid}/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    uid = str(pwd.getpwnam(SERVER_USER).pw_uid)
    assert status["Uid"].split() == [uid] * 4
    assert int(status["CapEff"], 16) == 0 and int(status["CapPrm"], 16) == 0
    assert "0" not in status["Groups"].split()


def test_private_files_of_the_app_user(as_root):
    """What only the app's user may read is the app's, not the server's."""
    secret = as_root.file("secret.txt", "secret", 0o600)
    os.chown(secret, pwd.getpwnam(APP_USER).pw_uid, -1)
    as_root.file("read.php", "<?php echo file_get_contents('secret.txt');")
    as_root.php(f"user {APP_USER};")
    assert as_root.get("/secret.txt").status == 403
    assert as_root.get("/read.php").text == "secret"


def test_runtime_files_are_closed_to_others(as_root):
    as_root.file("index.html", "x")
    as_root.simple()
    directory = os.path.dirname(as_root.status()["socket"])
    assert os.stat(directory).st_uid == 0 and not os.stat(directory).st_mode & 0o022


def test_workers_inherit_nothing(as_root):
    as_root.file("fds.php", "<?php $out = []; foreach (scandir('/proc/self/fd') as $n) if ($n[0] != '.') $out[$n] = @readlink(\"/proc/self/fd/$n\");"
                            " echo json_encode((object) $out);")
    as_root.php(f"user {APP_USER};")
    held = [as_root.connect() for _ in range(3)]
    for c in held:
        c.get("/fds.php")
    descriptors = json.loads(as_root.get("/fds.php").text)
    sockets = [v for v in descriptors.values() if v and v.startswith("socket:")]
    assert len(descriptors) < 16, descriptors
    assert len(sockets) <= 2, descriptors  # its connection to the server, perhaps the keeper's channel
    assert not [v for v in descriptors.values() if v and ("control" in v or "log" in v.rsplit("/", 1)[-1])]
    for c in held:
        c.close()
