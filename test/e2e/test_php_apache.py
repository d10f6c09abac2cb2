# SPDX-License-Identifier: Apache-2.0
"""What PHP sees of a request is what it sees under Apache's PHP module. The expected values stand in a table that was
recorded from Apache; where Apache is installed, it is asked again, and GODWIT_RECORD=1 writes the table anew."""
import gzip
import json
import os
import re
import shutil

import pytest

from support import apache, server
from support.http import Closed, Connection
from support.php_answers import ANSWERS
from support.php_requests import DUMP, OTHER_SCRIPTS, PLAIN, REQUESTS, SCRIPTS

DATA = server.ROOT / "test/e2e/data"
TABLE = DATA / "php_variables.json"
ANSWER_TABLE = DATA / "php_answers.json"
REDIRECT_TABLE = DATA / "php_redirects.json"

# Values that differ from run to run, or from one version of a server to the next.
VOLATILE = ("REMOTE_PORT", "REQUEST_TIME", "REQUEST_TIME_FLOAT", "SERVER_SOFTWARE")

# (requests, what of their answer, why it may differ): regular expressions for the whole of name and place.
ACCEPTED = [
    (".*", r"server\.SERVER_(ADMIN|SIGNATURE)", "contents of Apache's own error pages; nginx, PHP-FPM and LiteSpeed have none"),
    (".*", r"server\.(HOME|LANG|USER)", "the app's environment is seen as under PHP-FPM, and with it what `env` sets"),
    ("path info (is a slash|ends in dots)", r"server\.PATH_TRANSLATED",
     "Apache looks for the index file of the translated path, which is no part of this request"),
    ("(directory|alias) without slash.*", "location", "without a host there is nothing to be guessed wrong behind a proxy"),
    ("path info with encoded slash|NUL in the path", "status", "refused as malformed: never a file's name"),
    ("absolute form.*", r"server\.REQUEST_URI", "applications take it for a path; the host is in HTTP_HOST"),
    ("POST chunked", r"server\.(CONTENT_LENGTH|HTTP_TRANSFER_ENCODING)|headers\.(Content-Length|Transfer-Encoding)",
     "the body is decoded and its length known before PHP gets it"),
    ("POST with expect", r"server\.HTTP_EXPECT|headers\.Expect", "the server has answered it"),
    ("TRACE", "status", "never answered: it shows cookies to scripts"),
    (".*", r"server\.HTTP_(CONNECTION|KEEP_ALIVE|TE|UPGRADE)|headers\.(Connection|Keep-Alive|TE|Upgrade)",
     "about the connection, not the request; later versions of HTTP have none"),
    ("cookies in two fields", r"cookie\..*|headers\.Cookie|server\.HTTP_COOKIE",
     "joined by '; ' as RFC 9113 says; Apache's ', ' makes one cookie of two"),
    ("Basic.*|Bearer|Digest", r"server\.HTTP_AUTHORIZATION", "applications want it; Apache needs CGIPassAuth or rewriting"),
    ("Proxy-Authorization|Proxy", r"headers\.Proxy.*", "not for applications: the first is for a proxy, the second an attack"),
    ("underscore|odd names", r"headers\.X[_.!~].*", "could pose as another header under other LSAPI programs"),
    ("headers in lower case", r"headers\.(accept|user-agent|Accept|User-Agent)",
     "LSAPI names usual headers by number; getallheaders() spells them in the usual way"),
]


def make_files(www, other) -> None:
    for root, names in ((www, SCRIPTS), (other, OTHER_SCRIPTS), (www, PLAIN)):
        for name in names:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(DUMP if name.lower().endswith((".php", ".phtml")) else "plain")


def flat(value, place: str = "") -> dict:
    """{"server.HTTP_HOST": ..., "get.a.0": ...}; empty arrays are not seen."""
    if not isinstance(value, (dict, list)):
        return {place: value}
    out = {}
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        out.update(flat(item, f"{place}.{key}" if place else str(key)))
    return out


def seen_of(answer, names: dict) -> dict:
    """What an answer says, as {place: value}, with the run's own names replaced."""
    seen = {"status": answer.status}
    text = answer.text or answer.header("X-Seen", "")
    if answer.header("Location"):
        seen["location"] = answer.header("Location")
    if answer.header("Content-Type") == "application/json":
        seen.update(flat(json.loads(text)))
    for place, value in list(seen.items()):
        if place.split(".")[-1] in VOLATILE:
            del seen[place]
        elif isinstance(value, str):
            for real, name in names.items():
                value = value.replace(real, name)
            seen[place] = value
    return seen


def ask(port: int, name: str, www, other) -> dict:
    host = "::1" if name == "over IPv6" else "127.0.0.1"
    request = REQUESTS[name].replace(b"@PORT@", str(port).encode())
    with Connection((host, port), 20) as c:
        c.send(request)
        try:
            answer = c.head()
            while answer.status == 100:
                answer = c.head()
            c.body(answer, request.split(b" ")[0].decode())
        except Closed:
            return {"status": 0}
    return seen_of(answer, {str(www): "@WWW@", str(other): "@OTHER@", str(port): "@PORT@"})


@pytest.fixture(scope="module")
def tree():
    base = server.make_base()
    www, other = base / "www", base / "other"
    make_files(www, other)
    yield base, www, other
    shutil.rmtree(base)


def pack(table: dict) -> dict:
    """What most answers have in common stands once; the rest of an answer tells the difference, null for absent."""
    full = [seen for seen in table.values() if len(seen) > 3]
    common = {}
    for place in sorted({p for seen in full for p in seen}):
        values = [json.dumps(seen.get(place)) for seen in full]
        most = max(set(values), key=lambda v: (values.count(v), v))
        if values.count(most) * 2 > len(full) and most != "null":
            common[place] = json.loads(most)
    out = {}
    for name, seen in table.items():
        if len(seen) <= 3:
            out[name] = {"only": seen}
            continue
        out[name] = {p: v for p, v in sorted(seen.items()) if common.get(p) != v}
        out[name].update({p: None for p in common if p not in seen})
    return {"about": "recorded by test_php_apache.py with GODWIT_RECORD=1", "common": common, "requests": out}


def unpack(packed: dict) -> dict:
    table = {}
    for name, told in packed["requests"].items():
        seen = told["only"] if "only" in told else {**packed["common"], **told}
        table[name] = {p: v for p, v in seen.items() if v is not None}
    return table


def differences(expected: dict, seen: dict) -> dict:
    return {p: (expected.get(p), seen.get(p)) for p in sorted({*expected, *seen}) if expected.get(p) != seen.get(p)}


def show(name: str, found: dict) -> str:
    return "\n".join(f"{name}: {place}: Apache {want!r}, seen {have!r}" for place, (want, have) in found.items())


@pytest.fixture
def expected(tree) -> dict:
    """The recorded table; compared with what Apache says, when it is there."""
    base, www, other = tree
    said = None
    if apache.php_module():
        instance = apache.Apache(base, www, other)
        try:
            said = {name: ask(instance.port, name, www, other) for name in REQUESTS}
        finally:
            instance.stop()
    if os.environ.get("GODWIT_RECORD"):
        assert said, "recording needs Apache and its PHP module"
        TABLE.write_text(json.dumps(pack(said), indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    recorded = unpack(json.loads(TABLE.read_text()))
    wrong = [show(n, d) for n in said or () if (d := differences(said[n], recorded.get(n, {})))]
    assert not wrong, "Apache says something else than the table; GODWIT_RECORD=1 records it:\n" + "\n".join(wrong)
    return recorded


def test_variables_are_those_of_apache(godwit, tree, expected):
    _, www, other = tree
    godwit.config("listen 127.0.0.1:%(port)d [::1]:%(port)d;\nsite localhost _ {\n root %(root)s;\n app php { workers 0..1; }\n"
                  " path /alias/ { root %(other)s; }\n}\n", root=www, other=other)
    godwit.start()
    unused = {rule: True for rule in ACCEPTED}
    wrong = []
    for name in REQUESTS:
        found = differences(expected[name], ask(godwit.port, name, www, other))
        for place in list(found):
            for rule in ACCEPTED:
                if re.fullmatch(rule[0], name) and re.fullmatch(rule[1], place):
                    unused.pop(rule, None)
                    found.pop(place, None)
        if found:
            wrong.append(show(name, found))
    assert not wrong, "\n" + "\n".join(wrong)
    assert not unused, f"rules that accept nothing: {list(unused)}"


# ---- other paths than the client's

# A front controller and error pages, in Apache's words and in ours.
APACHE_RULES = """
ErrorDocument 404 /wrong.php
ErrorDocument 403 /wrong.php
<Directory {www}>
    RewriteEngine on
    RewriteRule ^secret - [F]
    RewriteCond %{{REQUEST_FILENAME}} !-f
    RewriteCond %{{REQUEST_FILENAME}} !-d
    RewriteCond %{{REQUEST_URI}} !^/plain/
    RewriteRule ^ /index.php [L]
</Directory>
"""
OUR_RULES = ("listen 127.0.0.1:%(port)d; site _ { root %(www)s; app php { workers 0..1; } error_page 403 404 /wrong.php;"
             " try {path} {path}/ /index.php; path /plain/ { try off; } path /secret { deny all; } }")
PLACED = "<?php foreach ($_SERVER as $k => $v) if (preg_match('/^(REDIRECT_.*|REQUEST_(URI|METHOD)|QUERY_STRING|SCRIPT_NAME|PHP_SELF)$/', $k)) $seen[$k] = $v; header('X-Seen: ' . json_encode($seen));"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PLACED_REQUESTS = [("GET", "/"), ("GET", "/index.php?a"), ("GET", "/some/page?a=1"), ("GET", "/some/page/"), ("POST", "/form?x"),
                   ("GET", "/d%20x/y%3fz"), ("GET", "/plain/missing?q=2"), ("POST", "/plain/missing"), ("GET", "/secret?key"),
                   ("GET", "/dir/")]


def placed_of(port: int) -> dict:
    seen = {}
    for method, target in PLACED_REQUESTS:
        with Connection(("127.0.0.1", port), 20) as c:
            a = c.request(method, target, FORM if method == "POST" else {}, body=b"a=1" if method == "POST" else None)
        seen[f"{method} {target}"] = {"status": a.status, **json.loads(a.header("X-Seen"))}
    return seen


def test_what_a_script_learns_of_another_path(godwit):
    www = godwit.www
    for name in ("index.php", "wrong.php", "dir/index.php"):
        godwit.file(name, PLACED)
    said = None
    if apache.php_module():
        instance = apache.Apache(godwit.base, www, www, APACHE_RULES.format(www=www))
        try:
            said = placed_of(instance.port)
        finally:
            instance.stop()
    if os.environ.get("GODWIT_RECORD"):
        REDIRECT_TABLE.write_text(json.dumps(said, indent=1, sort_keys=True) + "\n")
    expected = json.loads(REDIRECT_TABLE.read_text())
    assert said in (None, expected), "Apache says something else than the table; GODWIT_RECORD=1 records it"
    godwit.config(OUR_RULES)
    godwit.start()
    assert placed_of(godwit.port) == expected


# ---- answers

# Fields that tell of the server, or of how it sends.
OF_SERVER = ("date", "server", "connection", "keep-alive", "transfer-encoding", "content-length", "x-powered-by")

ACCEPTED_ANSWERS = [
    ("status unknown|status 599|status 418", "status", "Apache makes 500 of statuses that are not in its table"),
    ("status header", "status|fields", "means the status, as in CGI"),
    ("status header of .*", "fields", "is no header of the answer, as in CGI"),
    ("space before colon", "status|fields|body", "the space is taken away; Apache refuses the whole answer"),
    ("callback that writes, with type", "fields", "the script's type stays; Apache falls back to the default one"),
    ("virtual", "body", "sub-requests are Apache's own"),
]


def make_answers(www) -> dict:
    """Writes the scripts; {name: path}."""
    www.mkdir(parents=True)
    paths = {}
    for number, (name, code) in enumerate(ANSWERS.items()):
        paths[name] = f"/{number}.php"
        (www / f"{number}.php").write_text("<?php " + code)
    return paths


def answer_of(port: int, name: str, path: str, www) -> dict:
    method = "HEAD" if name.endswith("(HEAD)") else "GET"
    with Connection(("127.0.0.1", port), 20) as c:
        try:
            a = c.request(method, path, {"Accept-Encoding": "gzip"})
        except Closed:
            return {"status": 0}
    fields = sorted([n.lower(), v] for n, v in a.headers if n.lower() not in OF_SERVER)
    if a.header("X-Powered-By"):
        fields.append(["x-powered-by", "PHP"])
    body = gzip.decompress(a.body) if a.header("Content-Encoding") == "gzip" and a.body else a.body
    # Of a length that the script has said itself: what has become of it.
    length = {"length": a.header("Content-Length", "")} if name.startswith("length") else {}
    return {**length, "status": a.status, "fields": fields, "body": body.decode("latin-1").replace(str(www), "@WWW@")}


def ask_apache_for_answers(base, www, paths: dict) -> dict:
    instance = apache.Apache(base, www, www)
    try:
        return {name: answer_of(instance.port, name, path, www) for name, path in paths.items()}
    finally:
        instance.stop()


def test_answers_are_those_of_apache(godwit, tree):
    base = tree[0]
    www = base / "answers"
    paths = make_answers(www)
    said = ask_apache_for_answers(base, www, paths) if apache.php_module() else None
    if os.environ.get("GODWIT_RECORD"):
        ANSWER_TABLE.write_text(json.dumps(said, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    expected = json.loads(ANSWER_TABLE.read_text())
    changed = [show(n, d) for n in said or () if (d := differences(said[n], expected.get(n, {})))]
    assert not changed, "Apache says something else than the table; GODWIT_RECORD=1 records it:\n" + "\n".join(changed)
    godwit.config("listen 127.0.0.1:%(port)d;\nsite _ {\n root %(root)s;\n app php { workers 0..1; }\n}\n", root=www)
    godwit.start()
    wrong, unused = [], {rule: True for rule in ACCEPTED_ANSWERS}
    for name, path in paths.items():
        found = differences(expected[name], answer_of(godwit.port, name, path, www))
        for place in list(found):
            for rule in ACCEPTED_ANSWERS:
                if re.fullmatch(rule[0], name) and re.fullmatch(rule[1], place):
                    unused.pop(rule, None)
                    found.pop(place, None)
        if found:
            wrong.append(show(name, found))
    assert not wrong, "\n" + "\n".join(wrong)
    assert not unused, f"rules that accept nothing: {list(unused)}"
