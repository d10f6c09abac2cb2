# SPDX-License-Identifier: Apache-2.0
"""root with {host}: a directory for each host name, and nothing for hosts that are none."""
import re

import pytest

from support.http import Connection


def test_a_directory_for_each_host(godwit):
    for host in ("a.example", "b.example"):
        godwit.file(godwit.base / f"hosts/{host}/public/index.html", f"page of {host}")
        godwit.file(godwit.base / f"hosts/{host}/public/sub/i.php", "<?php echo $_SERVER['DOCUMENT_ROOT'], ' ', $_SERVER['SCRIPT_NAME'];")
        godwit.file(godwit.base / f"hosts/{host}/secret.txt", "secret")
    godwit.file(godwit.base / "hosts/public/index.html", "nobody's")
    godwit.config("listen 127.0.0.1:%(port)d;\nsite _ { root %(base)s/hosts/{host}/public; index index.html i.php; app php { workers 0..2; }\n"
                  "try {path} {path}/ /sub/i.php; }\n")
    godwit.start()
    for host in ("a.example", "b.example"):
        assert godwit.get("/", host=host).text == f"page of {host}"
        assert godwit.get("/sub", host=host).header("Location") == "/sub/"
        for target in ("/sub/", "/sub/i.php", "/no/such/page"):
            assert godwit.get(target, host=host).text == f"{godwit.base}/hosts/{host}/public /sub/i.php"
    assert godwit.get("/", host="A.Example.:80").text == "page of a.example"
    assert godwit.get("/", host="unknown.example").status == 404
    for host in (".", "..", "...", ".a.example", "a..example", "a.example/..", "../hosts", "..%2f", "a_b", "[::1]", "", "public/..", "-",
                 "a%2eexample", "..example", "a.example..", "*.example", "a.example/", "/", "/etc", "a.example,b.example", "a.example:x",
                 "a.example@b.example", "public", "::1", "[::1", "a" * 64 + ".example", "a." * 2000, "\u00e4.example"):
        answer = godwit.get("/index.html", host=host)
        assert answer.status in (400, 404), host
        assert b"page" not in answer.body and b"secret" not in answer.body and b"nobody" not in answer.body
    for target in ("/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt"):
        assert b"secret" not in godwit.get(target, host="a.example").body
    with Connection(godwit.address) as c:  # HTTP/1.0 has no Host
        c.send("GET / HTTP/1.0\r\n\r\n")
        assert c.read().status == 404


def test_htaccess_protects_there_too(godwit):
    godwit.file(godwit.base / "hosts/a.example/in/x.txt", "inside")
    godwit.file(godwit.base / "hosts/a.example/in/.htaccess", "Require all denied\n")
    godwit.config("listen 127.0.0.1:%(port)d;\nsite _ { root %(base)s/hosts/{host}; }\n")
    assert "hosts/a.example/in/.htaccess" in (lambda done: done.stdout + done.stderr)(godwit.run("check", "-c", godwit.conf))
    godwit.start()
    assert godwit.get("/in/x.txt", host="a.example").status == 403


@pytest.mark.parametrize("directive,words", [
    ("root /tmp/{user};", "\\{host\\}"), ("root /no/such/{host};", "/no/such"), ("root \"/tmp/{host\";", "\\{host\\}"),
])
def test_wrong_roots_are_refused(godwit, directive, words):
    text = f"# one\n# two\nsite _ {{ {directive} }}\n"
    godwit.config(text, with_user=False)
    done = godwit.run("check", "-c", godwit.conf, check=False)
    assert done.returncode == 1
    assert re.search(r"godwit\.conf:3:\d+: .*" + words, done.stdout + done.stderr), done.stdout + done.stderr
