# SPDX-License-Identifier: Apache-2.0
"""allow and deny: clients by their address."""
import json

import pytest

from support.http import Connection
from support.wrong import refused


def test_allow_and_deny(godwit):
    for name in ("index.html", "a/index.html", "b/index.html", "c/index.html"):
        godwit.file(name, name)
    godwit.simple("""
        path /a/ { deny all; }
        path /b/ { allow 127.0.0.0/8; deny all; }
        path /c/ { allow 192.0.2.0/24 2001:db8::/32; }
    """)
    for target, status in (("/", 200), ("/a/", 403), ("/a/index.html", 403), ("/a/missing", 403), ("/b/", 200), ("/c/", 403),
                           ("/x/../a/", 403), ("//a/", 403), ("/%61/", 403)):
        answer = godwit.get(target)
        assert answer.status == status, target
        assert status == 200 or b"index" not in answer.body
    assert godwit.status()["metrics"]["access_refused"] == 7


def test_a_path_opens_what_its_site_closes(godwit):
    godwit.file("index.html", "home")
    godwit.file("open/index.html", "open")
    godwit.simple("deny all; path /open/ { allow 127.0.0.1; }")
    assert godwit.get("/").status == 403
    assert godwit.get("/open/").text == "open"


def test_scripts_and_their_tails_are_behind_the_rules(godwit):
    godwit.file("admin/a.php", "<?php echo 'inside';")
    godwit.php(site="path /admin/ { allow 192.0.2.1; }")
    for target in ("/admin/a.php", "/admin/a.php/tail", "/admin/./a.php", "/admin%2fa.php"):
        assert godwit.get(target).status in (400, 403)


def test_kept_slashes_do_not_lead_past_rules(godwit):
    """An app that takes %2F for a slash must not be asked for what a rule keeps from the client."""
    godwit.file("index.php", "<?php echo rawurldecode($_SERVER['REQUEST_URI']);")
    godwit.php(site="encoded_slash keep; try {path} /index.php; path /admin/ { deny all; } path /a%%2Fb/ { return 410; } path /a/b/no/ { deny all; }")
    assert godwit.get("/group%2Fproject").text == "/group/project"
    for target in ("/admin%2Fusers", "/admin%2fusers", "/%2Fadmin/users", "/x%2F..%2Fadmin/users", "/admin%2F", "/x%2F../admin%2Fa",
                   "/a%2Fb/..%2F..%2Fadmin/users", "/a%2Fb/..%2Fc", "/a%2Fb/no/c"):
        assert godwit.get(target).status == 400, target
    assert godwit.get("/admin/a%2Fb").status == 403
    for target in ("/a%2Fb/c", "/a%2fb/c", "/a%2Fb"):
        assert godwit.get(target).status == 410, target
    assert godwit.get("/a/b/c").text == "/a/b/c"


@pytest.mark.parametrize("directive,words", [
    ("path /a%2Fb { }", "\"encoded_slash\" is \"reject\" here"), ("encoded_slash decode; path /a%2Fb/ { }", "\"decode\" here"),
    ("encoded_slash keep; path /a%2fb/ { }", "compared as \"%2F\""),
])
def test_paths_with_slashes_that_no_request_has(godwit, directive, words):
    refused(godwit, directive, words)


DUMP = """<?php $seen = array_intersect_key($_SERVER, array_flip(['REQUEST_URI', 'SCRIPT_NAME', 'PHP_SELF', 'QUERY_STRING']));
foreach ($_SERVER as $name => $value) if (strpos($name, 'REDIRECT_') === 0) $seen[$name] = $value;
echo json_encode($seen);"""


def test_an_index_file_is_behind_its_own_rules(godwit):
    for name in ("index.html", "a/index.html", "a/other.html", "b/index.php", "c/index.html", "alt/c/index.html"):
        godwit.file(name, "inside")
    passwords = godwit.base / "passwords"
    godwit.file(passwords, "joe:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n")  # password
    godwit.php(site=f"""
        try {{path}} {{path}}/ /alt{{path}}/ 404;
        path /index.html {{ deny all; }}
        path /a/index.html {{ auth_basic inner; auth_file {passwords}; }}
        path /b/index.php {{ deny all; }}
        path /alt/c/index.html {{ return 410; }}
    """)
    godwit.file("alt/d/index.html", "open")
    joe = {"Authorization": "Basic am9lOnBhc3N3b3Jk"}
    for target, status in (("/", 403), ("/?x", 403), ("/index.html", 403), ("/b/", 403), ("/b/index.php", 403), ("//b//", 403),
                           ("/a/", 401), ("/a/other.html", 200), ("/c/", 200), ("/alt/c/", 410), ("/d", 200)):
        answer = godwit.get(target)
        assert answer.status == status, target
        assert status == 200 or b"inside" not in answer.body
    assert godwit.get("/a/", joe).text == "inside"


def test_what_try_leads_to_is_behind_the_rules_of_its_index(godwit):
    godwit.file("alt/x/index.html", "inside")
    godwit.file("alt/y/index.html", "open")
    godwit.simple("try {path} /alt{path}/ 404; path /alt/x/index.html { deny all; }")
    assert godwit.get("/x").status == 403
    assert godwit.get("/y").text == "open"


def test_all_settings_of_an_index_file_hold(godwit):
    godwit.file("dir/index.php", DUMP)
    godwit.file("dir/other.php", DUMP)
    godwit.file("shut/index.html", "inside")
    godwit.file("files/index.html", "of the alias")
    godwit.file("alias/own/index.html", "of the site")
    godwit.file("files/own/index.html", "of the alias")
    godwit.file("e.php", DUMP)
    godwit.php(site="""
        limit_requests 1/h burst 3;
        header set X-Where site;
        error_page 403 /e.php;
        path /dir/index.php { header set X-Where index; }
        path /alias/ { root %(www)s/files; }
        path /alias/own/index.html { header set X-Where alias; }
        path /shut/ { limit_requests off; }
        path /shut/index.html { limit_requests off; deny all; }
    """)
    answer = godwit.get("/dir/?q=1")  # the limit counts it once
    assert answer.header("X-Where") == "index"
    assert json.loads(answer.text) == {"REQUEST_URI": "/dir/?q=1", "SCRIPT_NAME": "/dir/index.php",
                                       "PHP_SELF": "/dir/index.php", "QUERY_STRING": "q=1"}
    assert godwit.get("/dir/other.php").header("X-Where") == "site"
    assert godwit.get("/alias/").text == "of the alias"
    own = godwit.get("/alias/own/")  # what the file's own path says, its root too
    assert (own.text, own.header("X-Where")) == ("of the site", "alias")
    refused = godwit.get("/shut/")  # the page for it learns what was asked for
    assert refused.status == 403
    assert json.loads(refused.text)["REDIRECT_URL"] == "/shut/"
    assert godwit.get("/dir/").status == 429


def test_the_page_for_an_error_is_not_refused_itself(godwit):
    godwit.file("why/index.html", "because")
    godwit.simple("error_page 404 /why/; path /why/index.html { deny all; header set X-Page own always; }")
    answer = godwit.get("/missing")
    assert (answer.status, answer.text, answer.header("X-Page")) == (404, "because", "own")
    assert godwit.get("/why/").status == 403


def test_unix_sockets_and_ipv6(godwit):
    godwit.file("index.html", "home")
    sock = godwit.base / "http.sock"
    godwit.simple("allow unix: ::1; deny all;", top=f"listen unix:{sock}; listen [::1]:{godwit.port};")
    assert godwit.get("/").status == 403
    with Connection(str(sock)) as c:
        assert c.get("/").text == "home"
    with Connection(("::1", godwit.port)) as c:
        assert c.get("/").text == "home"


def test_a_long_list_of_addresses(godwit):
    """Lists of blocked networks have tens of thousands of lines."""
    godwit.file("index.html", "home")
    (godwit.base / "blocked.conf").write_text("".join(f"deny 10.{i // 250}.{i % 250}.0/24;\n" for i in range(20000)))
    godwit.simple("include %(base)s/blocked.conf; path /in/ { root %(www)s; allow 10.3.4.5; }", top="trusted_proxies 127.0.0.1; trusted_proxies_header x-forwarded;")
    for ip, target, status in [("10.79.249.1", "/", 403), ("10.0.0.1", "/", 403), ("10.80.0.1", "/", 200), ("10.3.4.5", "/", 403),
                               ("10.3.4.5", "/in/", 200), ("10.3.4.6", "/in/", 403), ("10.80.0.1", "/in/", 403)]:
        assert godwit.get(target, {"X-Forwarded-For": ip}).status == status, (ip, target)


@pytest.mark.parametrize("directive,words", [
    ("allow 192.0.2.0/33;", "192.0.2.0/33.*all was expected"), ("deny example.org;", "example.org"), ("allow;", "0 arguments"),
    ("deny 10.0.0.1/8;", "10\\.0\\.0\\.0/8 was expected"), ("allow 192.0.2.1 192.0.2;", "\"192\\.0\\.2\""),
    ("deny 192.0.2.0/255.255.255.0;", "255"), ("allow none;", "none"), ("deny all { }", "no block"),
])
@pytest.mark.parametrize("scope", ["top", "site", "path"])
def test_what_is_not_understood_is_refused(godwit, directive, words, scope):
    refused(godwit, directive, words, scope)
