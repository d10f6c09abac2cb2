# SPDX-License-Identifier: Apache-2.0
"""redirect, redirect_https and redirect_host: to another URL, with what belongs to the request kept."""
import pytest

from support.wrong import refused

RULES = """
    redirect /old /new;
    redirect /moved/* /here/ 301;
    redirect /shop/* https://shop.example/store/ 308;
    redirect /search /find?from=old;
    redirect /anchor /page#part;
    redirect /first/x /exact;
    redirect /first/* /prefix/;
    path /wiki/ { redirect /wiki/Main /wiki/Home 303; }
"""


@pytest.mark.parametrize("target,status,location", [
    ("/old", 302, "/new"), ("/old?a=1&b=%2f", 302, "/new?a=1&b=%2f"), ("/old/", 404, None), ("/older", 404, None),
    ("/moved/", 301, "/here/"), ("/moved/a/b%20c?q", 301, "/here/a/b%20c?q"), ("/moved", 404, None),
    ("/moved/..%5c..//x", 301, "/here/..%5C../x"), ("/moved/%0d%0aX:%20y", 301, "/here/%0D%0AX:%20y"),
    ("/shop/item/1", 308, "https://shop.example/store/item/1"), ("/shop/.evil.example", 308, "https://shop.example/store/.evil.example"),
    ("/search?q=1", 302, "/find?from=old"), ("/anchor?q=1", 302, "/page?q=1#part"),
    ("/first/x", 302, "/exact"), ("/first/y", 302, "/prefix/y"), ("//old", 302, "/new"), ("/x/../old", 302, "/new"),
    ("/wiki/Main", 303, "/wiki/Home"),
])
def test_rules(godwit, target, status, location):
    godwit.simple(RULES)
    answer = godwit.get(target)
    assert (answer.status, answer.header("Location")) == (status, location)


def test_a_site_that_has_moved_page_by_page(godwit):
    """Tens of thousands of rules load at once, and each counts: the one for a path, then the longest prefix."""
    pages = "".join(f"redirect /page/{i} /new/{i};\n" for i in range(20000))
    parts = "".join(f"redirect /part/{i}/* /parts/{i}/;\n" for i in range(20000))
    godwit.simple(f"{pages}{parts}redirect /part/* /rest/; path /part/7/in/ {{ redirect /part/7/in/x /inner; }}")
    with godwit.connect() as c:
        for target, location in [("/page/0", "/new/0"), ("/page/19999", "/new/19999"), ("/part/123/a/b", "/parts/123/a/b"),
                                 ("/part/x/y", "/rest/x/y"), ("/part/", "/rest/"), ("/part/7/in/x", "/inner"),
                                 ("/part/7/in/y", "/parts/7/in/y"), ("/page/20000", None), ("/part", None)]:
            assert c.get(target).header("Location") == location, target


def test_every_method_is_redirected_and_the_connection_stays(godwit):
    godwit.simple("redirect /old /new 307;")
    with godwit.connect() as c:
        for method in ("GET", "HEAD", "POST", "DELETE"):
            answer = c.request(method, "/old", body=b"x=1" if method == "POST" else None)
            assert (answer.status, answer.header("Location")) == (307, "/new")


def test_a_whole_site_moves(godwit):
    godwit.config("listen 127.0.0.1:%(port)d;\nsite old.example { redirect /* https://new.example/ 301; }\n"
                  "site _ { root %(www)s; }\n")
    godwit.start()
    answer = godwit.get("/a/b?c=d", host="old.example")
    assert (answer.status, answer.header("Location")) == (301, "https://new.example/a/b?c=d")
    assert godwit.get("/a/b", host="other.example").status == 404


def test_redirect_https_and_redirect_host(godwit):
    godwit.file("index.html", "home")
    godwit.config("listen 127.0.0.1:%(port)d;\n"
                  "site secure.example { root %(www)s; redirect_https on; path /plain/ { redirect_https off; root %(www)s; } }\n"
                  "site www.example *.www.example { root %(www)s; redirect_host www.example; }\n"
                  "site both.example _ { root %(www)s; redirect_host both.example; redirect_https on; }\n")
    godwit.start()
    for host, target, location in [
        ("secure.example", "/a%20b?q=1", "https://secure.example/a%20b?q=1"),
        (f"secure.example:{godwit.port}", "/", "https://secure.example/"),
        ("a.www.example", "/x", "http://www.example/x"),
        ("somebody.example", "/x", "https://both.example/x"),
        ("both.example", "/x", "https://both.example/x"),
    ]:
        answer = godwit.get(target, host=host)
        assert (answer.status, answer.header("Location")) == (301, location), host
    assert godwit.request("POST", "/x", body=b"1", host="secure.example").status == 308
    assert godwit.get("/plain/", host="secure.example").text == "home"
    assert godwit.get("/", host="www.example").text == "home"
    assert godwit.get("/", host="WWW.example:80").text == "home"


def test_redirect_host_with_the_usual_port_leads_to_no_circle(godwit):
    """Clients send no port when it is the usual one, also where a redirect has named it."""
    godwit.file("index.html", "home")
    godwit.config("listen 127.0.0.1:%(port)d; site _ { root %(www)s; redirect_host www.example:80; }"
                  "site a.example { root %(www)s; redirect_host a.example:8080; }")
    godwit.start()
    assert godwit.get("/", host="other.example").header("Location") == "http://www.example:80/"
    for host in ("www.example", "www.example:80", "a.example:8080"):
        assert godwit.get("/", host=host).text == "home"
    assert godwit.get("/", host="www.example:81").header("Location") == "http://www.example:80/"
    assert godwit.get("/", host="a.example").header("Location") == "http://a.example:8080/"


def test_kept_slashes_go_back_as_they_came(godwit):
    godwit.file("a%2Fdir/x", "")
    godwit.config("listen 127.0.0.1:%(port)d;\nencoded_slash keep;\n"
                  "site secure.example { root %(www)s; redirect_https on; }\n"
                  "site www.example *.www.example { root %(www)s; redirect_host www.example; }\n"
                  "site _ { root %(www)s; redirect /old%%2F/* /new/; redirect /100%% /all; redirect \"/a b\" /c; }\n")
    godwit.start()
    for host, target, location in [
        ("secure.example", "/a%2Fb%252Fc%20?q=%2F", "https://secure.example/a%2Fb%252Fc%20?q=%2F"),
        ("a.www.example", "//a%2fb", "http://www.example/a%2fb"),
        ("x.example", "/old%2F/x%2Fy%252f", "/new/x%2Fy%252f"),
        ("x.example", "/a%2Fdir", "/a%2Fdir/"),
        ("x.example", "/a%252Fdir?q", "/a%252Fdir/?q"),
        ("x.example", "/100%25", "/all"),
        ("x.example", "/a%20b", "/c"),
    ]:
        answer = godwit.get(target, host=host)
        assert (answer.status in (301, 302), answer.header("Location")) == (True, location), target


@pytest.mark.parametrize("directive,words", [
    ("redirect old /new;", "from \"old\""), ("redirect /old new;", "to \"new\""), ("redirect /old //evil.example/;", "to"),
    ("redirect /old /new 200;", "200.*301"), ("redirect /old/* https://new.example;", "behind its host"),
    ("redirect /old/* /old/new/;", "begins"), ("redirect /old /old;", "begins"), ("redirect /old;", "1 argument"),
    ("redirect /a//b /new;", "double slashes"), ("redirect /a/../b /new;", "double slashes"), ("redirect /a/. /new;", "double slashes"),
    ("path /in/ { redirect /out /new; }", "from \"/out\", but stands in path \"/in/\""), ("path /in { redirect /inn /new; }", "stands in path"),
    ("path /in/ { redirect /out/* /new/; }", "from \"/out/\\*\""), ("redirect /a https://{host}/;", "to \"https://\\{host\\}/\""),
    ("redirect /old* /new;", "only as \"/\\*\" at the end"), ("redirect /*.php /new;", "only as"),
    ("redirect /a/* /x/; redirect /a/b /y;", "\"/a/b\".*\"/a/\\*\" before it"), ("redirect /a/* /x/; redirect /a/b/* /y/;", "before it"),
    ("redirect /a /x; redirect /a /y;", "\"/a\" before it"),
    ("redirect /old javascript:x;", "to"), ("redirect /old/* /new?x=;", "without \"\\?\""),
    ("redirect /a%20b /new;", "escapes, \"/a b\" was expected"), ("redirect /a%2Fb%e4/* /new/;", "escapes"),
    ("redirect /a%0Ab /new;", "a path of plain characters"), ("redirect /caf%C3%A9 /new;", "a path of plain characters was"),
    ("redirect_host \"a b\";", "host name"), ("redirect_https maybe;", "on or off"), ("redirect /old \"/a b\";", "to"),
])
def test_wrong_rules_are_refused(godwit, directive, words):
    refused(godwit, directive, words)
