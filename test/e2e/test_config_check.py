# SPDX-License-Identifier: Apache-2.0
"""`godwit check` and what a configuration that is wrong says: every error as file:line:column."""
import re

import pytest

from support.server import ROOT


def check(godwit, text, **more):
    godwit.config(text, with_user=False, **more)
    done = godwit.run("check", "-c", godwit.conf, check=False)
    return done.returncode, done.stdout + done.stderr


def test_good_configuration(godwit):
    godwit.file("index.html", "x")
    status, out = check(godwit, "listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s; }\n")
    assert status == 0, out


@pytest.mark.parametrize("line", ["header set X-{} v;", "mime e{} text/plain;"])
def test_long_lists_load_at_once(godwit, line):
    """Each line copied all before it: so many took half a minute and gigabytes."""
    lines = "\n".join(line.format(i) for i in range(20000))
    status, out = check(godwit, "listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s;\n" + lines + "\n}\n")
    assert status == 0, out


# Each: text (line 1 begins right behind the quotes), and for each error "LINE:COLUMN" and words of its sentence.
WRONG = [
    ("misspelt directive", "listn 127.0.0.1:1;\n", [("1:1", r'"listn".*"listen"')]),
    ("misspelt in a site", "listen 127.0.0.1:1;\nsite a {\n    rot /;\n}\n", [("3:5", r'"rot".*"root"')]),
    ("misspelt in an app", "site a { root /tmp; app php { worker 1; } }\n", [("1:31", r'"worker".*"workers"')]),
    ("misspelt and in a wrong place", "site a { root /tmp; workes 1; }\n", [("1:21", r'"workes".*"workers", which may stand in app\?')]),
    ("wrong place", "root /tmp;\nsite a { listen 1; }\n", [("1:1", "root"), ("2:10", "listen")]),
    ("missing semicolon", "listen 127.0.0.1:1\nsite a { root /tmp; }\n", [("2:", ".")]),
    ("unclosed block", "site a {\n    root /tmp;\n", [("", r"\}")]),
    ("stray brace", "}\n", [("1:1", r"\}")]),
    ("unclosed string", "site \"a { root /tmp; }\n", [("1:6", r'"|quote')]),
    ("bad size", "body_max lots;\nsite a { root /tmp; }\n", [("1:10", r"lots")]),
    ("bad time", "header_time 5x;\nsite a { root /tmp; }\n", [("1:13", r"5x")]),
    ("out of bounds", "threads 100000;\nsite a { root /tmp; }\n", [("1:9", r"100000")]),
    ("range upside down", "site a { root /tmp; app php { workers 5..2; } }\n", [("1:39", r"5\.\.2")]),
    ("no argument", "listen;\nsite a { root /tmp; }\n", [("1:1", "listen")]),
    ("unknown word", "site a { root /tmp; htaccess maybe; }\n", [("1:30", r"maybe.*(refuse|ignore)")]),
    ("two errors, both told", "listn 1;\nsite a {\n  rot /;\n}\n", [("1:1", "listen"), ("3:3", "root")]),
    ("the same site name twice", "site a { root /tmp; }\nsite a { root /tmp; }\n", [("2:", "a")]),
    ("the same listener twice", "listen 127.0.0.1:1;\nlisten 127.0.0.1:1;\nsite a { root /tmp; }\n", [("2:", "127.0.0.1:1")]),
    ("unknown user", "user no-such-user-here;\nsite a { root /tmp; }\n", [("1:", "no-such-user-here|root")]),
    ("escaped index", "site a { root /tmp;\n  index index.html a%20b.html; }\n", [("2:20", r'without their escapes, "a b.html" was')]),
    ("index with a directory", "site a { root /tmp; index /index.html; }\n", [("1:27", "without \"/\"")]),
    ("type of a path", "site a { root /tmp; mime docs/a text/plain; }\n", [("1:26", "end of file names")]),
    ("missing root", "site a { root /no/such/dir; }\n", [("1:15", "/no/such/dir")]),
    ("missing include", "include nowhere.conf;\n", [("1:", "nowhere.conf")]),
]


@pytest.mark.parametrize("name,text,errors", WRONG, ids=[w[0] for w in WRONG])
def test_wrong_configuration(godwit, name, text, errors):
    status, out = check(godwit, text.replace("%", "%%"))
    assert status == 1, out
    lines = [line for line in out.splitlines() if re.search(r"godwit\.conf:\d+:\d+: ", line)]
    assert len(lines) >= len(errors), out
    for place, words in errors:
        pattern = rf"godwit\.conf:{re.escape(place)}{'' if place.count(':') and not place.endswith(':') else '.*'}"
        assert any(re.search(pattern + ".*" + words, line) for line in lines), f"{place} {words} not in\n{out}"


def test_a_spool_dir_that_the_server_cannot_use(godwit):
    godwit.file("index.html", "home")
    text = "listen 127.0.0.1:%(port)d;\n%(spool)s\nsite _ { root %(www)s; }\n"
    shut = godwit.base / "shut"
    shut.mkdir(mode=0o500)
    for place in ("/no/such/dir", godwit.file(godwit.base / "file"), "/proc", shut):
        godwit.config(text, spool=f"spool_dir {place};")
        line = godwit.conf.read_text()[:godwit.conf.read_text().index("spool_dir")].count("\n") + 1
        done = godwit.run("check", "-c", godwit.conf, check=False)
        assert done.returncode == 1 and f"godwit.conf:{line}:11: spool_dir is {place}, a directory where" in done.stderr
    godwit.config(text, spool="")
    godwit.start()
    godwit.config(text, spool=f"spool_dir {shut};")
    done = godwit.reload(check=False)
    assert done.returncode != 0 and f"spool_dir is {shut}" in done.stdout + done.stderr
    shut.chmod(0o777)
    assert godwit.reload().returncode == 0
    assert godwit.get("/").text == "home"


def test_the_manual_shows_what_it_says(godwit):
    """The line of doc/configuration.md, but for its path."""
    shown = re.search(r"^/etc/godwit/godwit\.conf(:7:5: .*)$", (ROOT / "doc" / "configuration.md").read_text(), re.M).group(1)
    status, out = check(godwit, "\n" * 5 + "site a {\n    rot /;\n}\n")
    assert status == 1 and f"{godwit.conf}{shown}" in out.splitlines()


def test_errors_stand_in_the_order_of_the_text(godwit):
    """Also those that later steps find: a directory that is missing, an address that stands twice."""
    (godwit.base / "z.conf").write_text("site z { root /no/z; rot /; }\nsite y { root /no/y; }\n")
    status, out = check(godwit, "site a { root /no/a; }\nlisten 1;\nlisten 1;\nsite b { root /no/b; threads 1; }\nsite a { }\ninclude z.conf;\n")
    places = [(p[0], int(p[1]), int(p[2])) for p in re.findall(r"([^/\n]*\.conf):(\d+):(\d+): ", out)]
    assert status == 1 and len(places) >= 3 and places == sorted(places), out


def test_error_in_an_included_file_names_that_file(godwit):
    (godwit.base / "sites").mkdir()
    (godwit.base / "sites" / "a.conf").write_text("site a { root /tmp; }\n")
    (godwit.base / "sites" / "b.conf").write_text("\n\nsite b {\n  indx a;\n}\n")
    status, out = check(godwit, "listen 127.0.0.1:%(port)d;\ninclude sites/*.conf;\n")
    assert status == 1 and re.search(r'sites/b\.conf:4:3: .*"indx".*"index"', out), out


def test_include(godwit):
    (godwit.base / "sites").mkdir()
    (godwit.base / "sites" / "a.conf").write_text(f"site a {{ root {godwit.www}; }}\n")
    godwit.file("index.html", "included")
    godwit.config("listen 127.0.0.1:%(port)d;\ninclude sites/*.conf;\n")
    godwit.start()
    assert godwit.get("/").text == "included"


def test_include_of_itself_ends(godwit):
    status, out = check(godwit, "include godwit.conf;\n")
    assert status == 1 and "include" in out


def test_relative_paths_begin_at_the_file(godwit):
    godwit.file("index.html", "relative")
    godwit.config("listen 127.0.0.1:%(port)d;\nsite _ { root www; }\n")
    godwit.start()
    assert godwit.get("/").text == "relative"


def test_serve_refuses_a_wrong_configuration(godwit):
    godwit.config("listen 127.0.0.1:%(port)d;\nsite _ { rot /; }\n", with_user=False)
    done = godwit.run("serve", "-c", godwit.conf, "-n", godwit.name, check=False)
    assert done.returncode == 1
    assert re.search(r'godwit\.conf:2:10: .*"root"', done.stderr), done.stderr


def test_check_lists_protective_htaccess_files(godwit):
    godwit.file("private/.htaccess", "Require all denied\n")
    godwit.file("public/.htaccess", "AddType image/svg+xml .svg\n")
    status, out = check(godwit, "listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s; }\n")
    assert "private/.htaccess" in out and "Require all denied" in out
    assert "public/.htaccess" not in out


def test_examples_are_good(godwit):
    godwit.run("check", "-c", ROOT / "examples" / "godwit.conf")
