# SPDX-License-Identifier: Apache-2.0
"""PHP under godwit-php: variables, bodies, sessions, headers, streaming and the many ways in which a script ends."""
import hashlib
import json
import os
import re
import time

import pytest

from support import wait
from support.http import Closed, format_request, multipart
from support.server import GODWIT

VARIABLES = "<?php header('Content-Type: application/json'); echo json_encode($_SERVER, JSON_INVALID_UTF8_SUBSTITUTE);"


@pytest.fixture
def site(godwit):
    godwit.file("hello.php", "<?php echo 'hello';")
    return godwit.php()


def test_hello(site):
    answer = site.get("/hello.php")
    assert (answer.status, answer.text) == (200, "hello")
    assert answer.header("Content-Type") == "text/html; charset=UTF-8"
    assert answer.header("Content-Length") == "5", "an answer that is whole has its length"


def test_sapi_name(site):
    site.file("sapi.php", "<?php echo PHP_SAPI;")
    assert site.get("/sapi.php").text == "litespeed"


SERVER_CASES = [
    ("/v.php", {}),
    ("/v.php?a=1&b=%20x", {"QUERY_STRING": "a=1&b=%20x", "REQUEST_URI": "/v.php?a=1&b=%20x"}),
    ("/v.php/path/in%20fo", {"PATH_INFO": "/path/in fo", "REQUEST_URI": "/v.php/path/in%20fo",
                             "PHP_SELF": "/v.php/path/in fo"}),
    ("/sub/", {"SCRIPT_NAME": "/sub/index.php", "REQUEST_URI": "/sub/", "PHP_SELF": "/sub/index.php"}),
    ("/sub/index.php/x", {"SCRIPT_NAME": "/sub/index.php", "PATH_INFO": "/x", "PHP_SELF": "/sub/index.php/x"}),
    ("/./sub/../v.php", {"SCRIPT_NAME": "/v.php", "REQUEST_URI": "/./sub/../v.php"}),
    ("/%76.php", {"SCRIPT_NAME": "/v.php", "REQUEST_URI": "/%76.php"}),
]


@pytest.mark.parametrize("target,expected", SERVER_CASES, ids=[c[0] for c in SERVER_CASES])
def test_server_variables(site, target, expected):
    site.file("v.php", VARIABLES)
    site.file("sub/index.php", VARIABLES)
    answer = site.get(target, {"X-Custom-Name": "value", "Cookie": "c=1", "User-Agent": "e2e", "Accept": "*/*"},
                      host="shop.example:8080")
    seen = json.loads(answer.text)
    script = expected.get("SCRIPT_NAME", "/v.php")
    common = {
        "SCRIPT_NAME": script, "SCRIPT_FILENAME": str(site.www) + script, "DOCUMENT_ROOT": str(site.www),
        "REQUEST_METHOD": "GET", "REQUEST_URI": target, "QUERY_STRING": "", "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_NAME": "shop.example", "SERVER_PORT": str(site.port), "SERVER_ADDR": "127.0.0.1",
        "REMOTE_ADDR": "127.0.0.1", "REQUEST_SCHEME": "http", "GATEWAY_INTERFACE": "CGI/1.1",
        "HTTP_HOST": "shop.example:8080", "HTTP_X_CUSTOM_NAME": "value", "HTTP_COOKIE": "c=1",
        "HTTP_USER_AGENT": "e2e", "HTTP_ACCEPT": "*/*", "PHP_SELF": script,
    }
    want = {**common, **expected}
    # Behind another port than the client named, SERVER_PORT may follow the Host field as Apache's does.
    if seen.get("SERVER_PORT") == "8080":
        want["SERVER_PORT"] = "8080"
    assert {k: seen.get(k) for k in want} == want
    assert "PATH_INFO" in want or "PATH_INFO" not in seen or seen["PATH_INFO"] == ""
    assert "HTTPS" not in seen
    assert seen["SERVER_SOFTWARE"].lower().startswith("godwit")
    assert seen["REMOTE_PORT"].isdigit()
    assert abs(seen["REQUEST_TIME"] - time.time()) < 60


def test_odd_header_names_never_become_variables(site):
    site.file("v.php", VARIABLES)
    seen = json.loads(site.get("/v.php", [("X_Forged", "bad"), ("Proxy", "http://evil"), ("X-Fine", "yes")]).text)
    assert "HTTP_X_FORGED" not in seen and "HTTP_PROXY" not in seen
    assert seen["HTTP_X_FINE"] == "yes"


def test_authorization(site):
    site.file("a.php", "<?php echo json_encode([$_SERVER['HTTP_AUTHORIZATION'] ?? null, $_SERVER['PHP_AUTH_USER'] ?? null,"
                       " $_SERVER['PHP_AUTH_PW'] ?? null]);")
    assert json.loads(site.get("/a.php", {"Authorization": "Basic YW5uOnNlY3JldA=="}).text) == \
        ["Basic YW5uOnNlY3JldA==", "ann", "secret"]
    assert json.loads(site.get("/a.php", {"Authorization": "Bearer abc"}).text)[0] == "Bearer abc"
    assert json.loads(site.get("/a.php").text) == [None, None, None], "nothing stays from the request before"


def test_get_post_cookie(site):
    site.file("in.php", "<?php echo json_encode([$_GET, $_POST, $_COOKIE]);")
    answer = site.request("POST", "/in.php?q[]=1&q[]=2", {"Cookie": "a=b; c=d%20e",
                          "Content-Type": "application/x-www-form-urlencoded"}, b"x=1&y=%C3%A9")
    assert json.loads(answer.text) == [{"q": ["1", "2"]}, {"x": "1", "y": "é"}, {"a": "b", "c": "d e"}]


def test_script_that_does_not_read_the_body(site):
    with site.connect(30) as c:
        for _ in range(3):
            assert c.request("POST", "/hello.php", body=os.urandom(500000)).text == "hello"


def test_upload_of_20_mb(godwit):
    godwit.file("up.php", "<?php $f = $_FILES['f']; echo json_encode([$f['name'], $f['size'], $f['error'], sha1_file($f['tmp_name']),"
                          " $_POST['note'], is_uploaded_file($f['tmp_name'])]);")
    godwit.php("workers 0..2; ini upload_max_filesize 32M; ini post_max_size 40M;", top="body_max 64m;")
    data = os.urandom(20 * 1024 * 1024)
    headers, body = multipart({"note": "hi"}, {"f": ("pic.bin", "application/octet-stream", data)})
    answer = godwit.request("POST", "/up.php", headers, body)
    assert json.loads(answer.text) == ["pic.bin", len(data), 0, hashlib.sha1(data).hexdigest(), "hi", True]


def test_session(site):
    site.file("s.php", f"<?php session_save_path('{site.data}'); session_start(); $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;"
                       " echo $_SESSION['n'];")
    first = site.get("/s.php")
    cookie = first.header("Set-Cookie").split(";")[0]
    assert [site.get("/s.php", {"Cookie": cookie}).text for _ in range(3)] == ["2", "3", "4"]
    assert site.get("/s.php").text == "1"


def test_headers(site):
    site.file("h.php", """<?php
        http_response_code(418);
        header('X-One: 1'); header('X-One: 2'); header('X-Many: a'); header('X-Many: b', false);
        setcookie('a', '1'); setcookie('b', '2 3');
        header('Content-Type: text/plain');
        header_remove('X-Powered-By');
        echo 'teapot';""")
    answer = site.get("/h.php")
    assert (answer.status, answer.text) == (418, "teapot")
    assert answer.all("X-One") == ["2"] and answer.all("X-Many") == ["a", "b"]
    assert answer.all("Set-Cookie") == ["a=1", "b=2%203"]
    assert answer.header("Content-Type").startswith("text/plain") and answer.header("X-Powered-By") is None


@pytest.mark.parametrize("code,status,location", [
    ("header('Location: /x');", 302, "/x"),
    ("header('Location: /x', true, 301);", 301, "/x"),
    ("header('HTTP/1.1 404 Gone Fishing');", 404, None),
    ("header('Status: 503 Later');", (200, 503), None),
    ("http_response_code(204);", 204, None),
    ("header('HTTP/1.0 304 Not Modified');", 304, None),
])
def test_status(site, code, status, location):
    site.file("s.php", f"<?php {code}")
    with site.connect() as c:
        answer = c.get("/s.php")
        assert answer.status in (status if isinstance(status, tuple) else (status,))
        assert answer.header("Location") == location
        assert c.get("/hello.php").text == "hello"


def test_head(site):
    site.file("big.php", "<?php echo str_repeat('x', 100000);")
    with site.connect() as c:
        assert c.request("HEAD", "/big.php").status == 200
        assert c.get("/hello.php").text == "hello"


def test_large_answers(site):
    site.file("big.php", "<?php for ($i = 0; $i < 2000; $i++) echo str_repeat(chr(65 + $i % 26), 4096);")
    with site.connect(20) as c:
        for _ in range(2):
            answer = c.get("/big.php")
            assert len(answer.body) == 2000 * 4096 and answer.body[-4096:] == bytes([65 + 1999 % 26]) * 4096


def test_flush_streams(site):
    site.file("gate.php", f"""<?php
        header('Content-Type: text/event-stream');
        ob_end_flush(); // Debian's output_buffering
        echo "data: first\\n\\n"; flush();
        while (!file_exists('{site.data}/open')) {{ usleep(5000); clearstatcache(); }}
        echo "data: second\\n\\n";""")
    with site.connect() as c:
        c.send(format_request("GET", "/gate.php"))
        assert c.head().status == 200
        assert c.chunk() == b"data: first\n\n"  # comes while the script still waits
        (site.data / "open").touch()
        rest = b""
        while piece := c.chunk():
            rest += piece
        assert rest == b"data: second\n\n"


def test_finish_request(site):
    site.file("f.php", f"""<?php
        echo 'answered'; litespeed_finish_request();
        while (!file_exists('{site.data}/open')) {{ usleep(5000); clearstatcache(); }}
        file_put_contents('{site.data}/after', 'done');""")
    with site.connect() as c:
        assert c.get("/f.php").text == "answered"
        assert c.get("/hello.php").text == "hello"
    assert not (site.data / "after").exists()
    (site.data / "open").touch()
    wait.until((site.data / "after").exists, 10, "the script goes on after its answer")


def test_exit_and_die(site):
    site.file("e.php", "<?php echo 'before'; register_shutdown_function(fn() => print(' after')); exit; echo 'never';")
    site.file("d.php", "<?php die('dead');")
    with site.connect() as c:
        assert c.get("/e.php").text == "before after"
        assert c.get("/d.php").text == "dead"
        assert c.get("/hello.php").text == "hello"


def test_fatal_error(site):
    site.file("f.php", "<?php undefined_thing();")
    site.file("late.php", "<?php echo 'part'; undefined_thing();")
    answer = site.get("/f.php")
    assert answer.status == 500
    assert "undefined_thing" not in answer.text, "details are for the log"
    site.stderr.wait(r"app\.output.*Call to undefined function undefined_thing\(\).*f\.php")
    site.get("/late.php")
    assert site.get("/hello.php").text == "hello"


def test_exception_and_memory_limit(godwit):
    godwit.file("x.php", "<?php throw new Exception('thrown');")
    godwit.file("m.php", "<?php $s = ''; while (true) $s .= str_repeat('x', 1000000);")
    godwit.file("hello.php", "<?php echo 'hello';")
    godwit.php("workers 0..2; ini memory_limit 16M;")
    assert godwit.get("/x.php").status == 500
    assert godwit.get("/m.php").status == 500
    godwit.stderr.wait("Allowed memory size of 16777216 bytes exhausted")
    assert godwit.get("/hello.php").text == "hello"


@pytest.mark.parametrize("target,status", [
    ("/missing.php", 404), ("/missing.php/x", 404), ("/pic.txt/x.php", 404), ("/dir.php", (301, 403, 404)),
    ("/hello.php%00.txt", (400, 404)), ("/hello.php%0a", 404), ("/.hidden.php", (403, 404)), ("/hello.PHP", 404),
    ("/hello.phps", 404), ("/hello.php.bak", 404),
])
def test_what_is_not_a_script(site, target, status):
    site.file("pic.txt", "<?php echo 'run';")
    site.file(".hidden.php", "<?php echo 'run';")
    site.file("dir.php/readme", "x")
    answer = site.get(target)
    assert answer.status in (status if isinstance(status, tuple) else (status,))
    assert "hello" not in answer.text and "run" not in answer.text.replace("running", "")


def test_nothing_stays_between_requests(site):
    site.file("set.php", "<?php putenv('LEFT=1'); chdir('/'); umask(0); setlocale(LC_ALL, 'C'); date_default_timezone_set('Asia/Tokyo');"
                         " ini_set('memory_limit', '77M'); $GLOBALS['left'] = 1; define('LEFT', 1); echo getmypid();")
    site.file("look.php", "<?php echo json_encode([getenv('LEFT'), getcwd(), ini_get('memory_limit') == '77M', isset($GLOBALS['left']),"
                          " defined('LEFT'), date_default_timezone_get() == 'Asia/Tokyo']);")
    with site.connect() as c:
        for _ in range(5):
            c.get("/set.php")
            assert json.loads(c.get("/look.php").text) == [False, str(site.www), False, False, False, False]


def test_opcache_is_on_and_shared(site):
    site.file("o.php", "<?php $s = opcache_get_status(false); echo json_encode([$s['opcache_enabled'] ?? false,"
                       " opcache_is_script_cached(__FILE__)]);")
    os.utime(site.www / "o.php", (time.time() - 100, time.time() - 100))  # opcache waits for files to settle
    site.get("/o.php")
    assert json.loads(site.get("/o.php").text) == [True, True]


def test_changed_script_is_seen(site):
    path = site.file("c.php", "<?php echo 'old';")
    os.utime(path, (time.time() - 100, time.time() - 100))
    assert site.get("/c.php").text == "old"
    site.file("c.php", "<?php echo 'new';")
    wait.until(lambda: site.get("/c.php").text == "new", 10, "the new script")


def test_environment_and_ini(godwit):
    godwit.file("e.php", "<?php echo json_encode([getenv('STAGE'), $_SERVER['STAGE'] ?? null, ini_get('precision'), getenv('HOME')]);")
    godwit.php("workers 0..1; env STAGE production; ini precision 7;")
    stage, _, precision, _ = json.loads(godwit.get("/e.php").text)
    assert (stage, precision) == ("production", "7")


def test_admin_ini_is_final(godwit):
    godwit.file("i.php", "<?php ini_set('memory_limit', '99M'); ini_set('precision', '5'); echo ini_get('memory_limit'), ' ', ini_get('precision');")
    godwit.php("workers 0..1; admin_ini memory_limit 64M; ini precision 9;")
    assert godwit.get("/i.php").text == "64M 5"


@pytest.mark.parametrize("directive", ["ini", "admin_ini"])
def test_every_character_in_settings(godwit, directive):
    """Values reach PHP as they stand; those after them too."""
    godwit.php("workers 0..1; " + godwit.odd_settings(directive))
    for _ in range(2):
        assert godwit.get("/odd.php").text == godwit.ODD % godwit.www


def test_admin_ini_of_the_start(godwit):
    """What PHP heeds only at its start works, and what scripts could change otherwise is locked."""
    godwit.file("a.php", """<?php ini_set('opcache.enable', 0); ini_set('display_errors', '1'); ini_set('precision', '5');
        echo json_encode([function_exists('exec'), get_class_methods('SplStack'), ini_get('display_errors'),
            ini_get('precision'), ini_get('opcache.memory_consumption'), ini_get('opcache.enable'), ini_set('precision', 3)]);""")
    godwit.file(".user.ini", "precision = 6\n")
    godwit.php("workers 1..1; admin_ini disable_functions exec; admin_ini disable_classes SplStack; admin_ini precision 9;"
               " admin_ini display_errors Off; admin_ini opcache.memory_consumption 24; admin_ini opcache.enable On;")
    for _ in range(2):
        assert godwit.get("/a.php").text == '[false,[],"","9","24","1",false]'


def test_setting_that_php_does_not_understand(godwit):
    """It fails the start; it never drops those after it."""
    godwit.file("v.php", "<?php echo 'ran';")
    program = GODWIT.parent / "runtime" / "php" / "godwit-php"
    godwit.php(f"command {program} -d 'user_agent=a ('; workers 0..1; admin_ini open_basedir /tmp; start_time 5s; queue_time 3s;")
    assert godwit.get("/v.php").status in (502, 503)
    godwit.stderr.wait(r"does not understand the setting user_agent=a \(")
    godwit.stderr.wait("app.failed")


def test_settings_of_a_program_that_takes_none(godwit):
    godwit.config("listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s; app php { command /bin/true; ini precision 9; } }\n")
    refused = godwit.run("check", "-c", godwit.conf, check=False)
    assert refused.returncode == 1 and "ini and admin_ini cannot be given to /bin/true" in refused.stderr


def test_extensions(godwit):
    for name in ("a.inc", "a.php", "a.phtml"):
        godwit.file(name, "<?php echo 'r', 'an';")
    godwit.php("workers 0..1; extensions .php .inc;")
    assert godwit.get("/a.inc").text == "ran" and godwit.get("/a.php").text == "ran"
    assert godwit.get("/a.phtml").text != "ran"


def test_source_is_never_sent(godwit):
    for name in ("a.php", "a.phtml", "a.phar"):
        godwit.file(name, "<?php echo 'secret';")
    godwit.simple()
    for name in ("a.php", "a.phtml", "a.phar", "%61.php", "a.php/", "a.php/x"):
        answer = godwit.get("/" + name)
        assert answer.status in (403, 404) and "secret" not in answer.text, name


def test_environment_is_only_what_is_given(godwit):
    godwit.env["LEAKED"] = "secret"
    godwit.file("e.php", "<?php echo json_encode(getenv());")
    godwit.php("workers 0..1; env GIVEN yes;")
    seen = json.loads(godwit.get("/e.php").text)
    assert seen["GIVEN"] == "yes" and "LEAKED" not in seen
    assert not [name for name in seen if name.startswith(("GODWIT", "NOTIFY", "LISTEN", "LSAPI"))]


def test_directory(godwit):
    godwit.file("hello.php", "<?php echo getcwd();")
    godwit.php("workers 1..1; directory %(data)s;")
    assert godwit.get("/hello.php").text == str(godwit.www), "for PHP it is the script's own"
    assert os.readlink(f"/proc/{godwit.one('spawner').pid}/cwd") == str(godwit.data)


def test_many_workers_in_parallel(godwit):
    godwit.file("w.php", f"""<?php
        touch('{godwit.data}/here-' . getmypid());
        while (count(glob('{godwit.data}/here-*')) < 4) usleep(5000);
        echo getmypid();""")
    godwit.php("workers 0..4;")
    held = [godwit.connect(20) for _ in range(4)]
    for c in held:
        c.send(format_request("GET", "/w.php"))
    pids = {c.read().text for c in held}
    assert len(pids) == 4, "four requests that need each other are served by four workers"
    for c in held:
        c.close()


def test_phpinfo(site):
    site.file("i.php", "<?php phpinfo();")
    answer = site.get("/i.php")
    assert answer.status == 200 and re.search(r"PHP Version", answer.text)


def test_client_that_leaves(site):
    site.file("slow.php", f"<?php touch('{site.data}/begun'); usleep(300000); echo str_repeat('x', 100000);")
    for _ in range(5):
        c = site.connect()
        c.send(format_request("GET", "/slow.php"))
        wait.until((site.data / "begun").exists, 5, "the script runs")
        (site.data / "begun").unlink()
        c.close()
    assert site.get("/hello.php").text == "hello"
    with pytest.raises(Closed):
        with site.connect() as c:
            c.send("GET /hello.php HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            c.read()
            c.head()
