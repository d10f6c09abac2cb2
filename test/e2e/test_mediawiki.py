# SPDX-License-Identifier: Apache-2.0
"""MediaWiki installed as the manual says (Debian's package, SQLite): read, log in, edit, upload."""
import html
import os
import re
from urllib.parse import urlencode

import pytest

from support import apache, browser as chromium, notices
from support.http import Connection, multipart
from support.pictures import png
from support.recipe import Recipe
from support.server import APP_USER, IS_ROOT, Godwit, make_base, remove_base

WIKI = "/usr/share/mediawiki"
PASSWORD = "godwit flies eleven days"


class Browser:
    """Keeps cookies, follows redirects, fills in forms."""

    def __init__(self, godwit, port: int = None):
        self.cookies = {}
        self.host = f"127.0.0.1:{port or godwit.port}"

    def request(self, method, target, headers=None, body=None):
        for _ in range(5):
            sent = dict(headers or {})
            if self.cookies:
                sent["Cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
            answer = self._send(method, target, sent, body)
            for cookie in answer.all("Set-Cookie"):
                name, _, value = cookie.split(";")[0].partition("=")
                self.cookies[name] = value
            if answer.status not in (301, 302, 303):
                return answer
            target = re.sub(r"^http://[^/]+", "", answer.header("Location"))
            method, headers, body = "GET", None, None
        raise AssertionError("too many redirects")

    def _send(self, method, target, headers, body):
        with Connection(("127.0.0.1", int(self.host.split(":")[1])), 60) as c:
            return c.request(method, target, headers, body, self.host)

    def get(self, target):
        return self.request("GET", target)

    def submit(self, page: str, form_id: str, **values):
        """Posts the form of that id with its hidden fields and these values."""
        form = re.search(rf'<form\b[^>]*\b(?:id|name)="{form_id}".*?</form>', page, re.S)
        assert form, f"no form {form_id} in\n{page[:2000]}"
        text = form.group(0)
        fields = {}
        for tag in re.findall(r"<input\b[^>]*>", text):
            attributes = {k: html.unescape(v) for k, v in re.findall(r"""([\w-]+)=["']([^"']*)["']""", tag)}
            if attributes.get("type") == "hidden" and "name" in attributes:
                fields[attributes["name"]] = attributes.get("value", "")
        files = {k: v for k, v in values.items() if isinstance(v, tuple)}
        fields.update({k: v for k, v in values.items() if k not in files})
        action = html.unescape(re.search(r'action="([^"]*)"', text).group(1))
        if files or "multipart/form-data" in text:
            headers, body = multipart(fields, files)
        else:
            headers, body = {"Content-Type": "application/x-www-form-urlencoded"}, urlencode(fields).encode()
        return self.request("POST", action, headers, body)


@pytest.fixture(scope="module")
def wiki():
    instance = Godwit(make_base())
    recipe = Recipe(instance, "MediaWiki", "wiki.example", "wiki", {
        "/var/lib/wiki": str(instance.data),
        "http://wiki.example": f"http://127.0.0.1:{instance.port}",
        "A LONG PASSWORD": PASSWORD,
        "chown -R wiki:": f"chown -R {APP_USER}:" if IS_ROOT else ": chown",
    })
    recipe.shell()
    with open(instance.data / "LocalSettings.php", "a") as file:
        file.write(recipe.blocks[1] + notices.MARK)
    recipe.start()
    yield instance
    instance.finish()
    remove_base(instance)


@pytest.fixture
def browser(wiki):
    return Browser(wiki)


def log_in(browser):
    page = browser.get("/index.php?title=Special:UserLogin")
    assert page.status == 200
    answer = browser.submit(page.text, "userlogin", wpName="Admin", wpPassword=PASSWORD, wpLoginAttempt="Log in")
    assert answer.status == 200
    assert 'wgUserName":"Admin"' in answer.text, "logged in"
    return browser


@pytest.fixture
def admin(browser):
    return log_in(browser)


def test_main_page_and_its_assets(browser):
    page = browser.get("/")
    assert page.status == 200 and "<title>My Wiki</title>" in page.text
    assert "MediaWiki has been installed" in page.text
    assets = {html.unescape(a) for a in re.findall(r'(?:href|src)="(/(?:load\.php|resources|skins)[^"]*)"', page.text)}
    assert len(assets) >= 3
    for asset in assets:
        answer = browser.get(asset)
        assert answer.status == 200 and answer.body, asset
        kind = answer.header("Content-Type")
        assert kind.split("/")[0] in ("text", "image", "application"), (asset, kind)
    style = next(a for a in assets if "only=styles" in a)
    tag = browser.get(style).header("ETag")
    assert browser.request("GET", style, {"If-None-Match": tag}).status == 304, "load.php answers conditionals"


def test_static_resources(browser):
    answer = browser.get("/resources/assets/mediawiki.png") if os.path.exists(f"{WIKI}/resources/assets/mediawiki.png") \
        else browser.get("/resources/assets/poweredby_mediawiki_88x31.png")
    assert answer.status == 200 and answer.header("Content-Type") == "image/png"
    assert answer.body.startswith(b"\x89PNG")


def test_title_in_the_path(browser):
    page = browser.get("/index.php/Special:Version")
    assert page.status == 200 and "litespeed" in page.text and "SQLite" in page.text
    assert browser.get("/index.php/No_such_page").status == 404
    assert browser.get("/index.php/Caf%C3%A9_%26_Bar").status == 404
    assert "Café &amp; Bar" in browser.get("/index.php/Caf%C3%A9_%26_Bar").text


def test_wrong_password(browser):
    page = browser.get("/index.php?title=Special:UserLogin")
    answer = browser.submit(page.text, "userlogin", wpName="Admin", wpPassword="wrong", wpLoginAttempt="Log in")
    assert 'wgUserName":null' in answer.text


def test_edit_and_read_back(admin, wiki):
    text = "The '''godwit''' flies.\n\nÜber den Ozean & <nowiki><b></nowiki>\n"
    page = admin.get("/index.php?title=Godwit&action=edit")
    saved = admin.submit(page.text, "editform", wpTextbox1=text, wpSummary="first", wpSave="Save")
    assert saved.status == 200 and "The <b>godwit</b> flies." in saved.text
    stranger = Browser(wiki)
    page = stranger.get("/index.php/Godwit").text
    assert "The <b>godwit</b> flies." in page and "Über den Ozean &amp; &lt;b&gt;" in page
    assert stranger.get("/index.php?title=Godwit&action=raw").text.strip() == text.strip()
    assert "first" in stranger.get("/index.php?title=Godwit&action=history").text


def test_upload(admin):
    picture = png(40, 30)
    page = admin.get("/index.php/Special:Upload")
    answer = admin.submit(page.text, "mw-upload-form", wpUploadFile=("bird.png", "image/png", picture), wpDestFile="Bird.png",
                          wpUploadDescription="a bird", wpIgnoreWarning="1", wpUpload="Upload file")
    assert answer.status == 200 and "Bird.png" in answer.text
    link = re.search(r'href="(/images/[^"]*Bird\.png)"', answer.text).group(1)
    assert admin.get(link).body == picture


def test_api(browser):
    answer = browser.get("/api.php?action=query&meta=siteinfo&format=json")
    assert answer.header("Content-Type").startswith("application/json")
    assert '"sitename":"My Wiki"' in answer.text
    assert browser.get("/rest.php/v1/page/Main_Page").status == 200


def test_what_its_htaccess_files_protect_is_refused(browser):
    for target in ("/includes/WebStart.php", "/includes/DefaultSettings.php", "/maintenance/install.php", "/vendor/autoload.php",
                   "/languages/messages/MessagesEn.php", "/languages/no-such-file.php", "/includes/", "/maintenance/tables.json"):
        assert browser.get(target).status == 403, target


def test_no_script_runs_among_the_uploads(browser, wiki):
    (wiki.data / "images" / "evil.php").write_text("<?php echo 'ran';")
    answer = browser.get("/images/evil.php")
    assert answer.body != b"ran"
    (wiki.data / "images" / "evil.php").unlink()


def test_no_php_notices(browser, wiki):
    browser.get("/index.php/Main_Page")
    assert not re.search(r"PHP (Notice|Warning|Fatal|Deprecated)", wiki.stderr.text())


@pytest.mark.deep
def test_upload_of_20_mb(admin):
    picture = png(400, 300, os.urandom(20 << 20))
    page = admin.get("/index.php/Special:Upload")
    answer = admin.submit(page.text, "mw-upload-form", wpUploadFile=("large.png", "image/png", picture), wpDestFile="Large.png",
                          wpUploadDescription="a large bird", wpIgnoreWarning="1", wpUpload="Upload file")
    assert answer.status == 200 and "Large.png" in answer.text
    link = re.search(r'href="(/images/[^"]*/Large\.png)"', answer.text).group(1)
    assert admin.get(link).body == picture


def special_pages(browser) -> list:
    listed = browser.get("/index.php/Special:SpecialPages").text
    found = sorted({html.unescape(a) for a in re.findall(r'<li[^>]*><a href="(/index\.php[/?][^"]*Special:[^"]+)"', listed)})
    assert len(found) > 60, found
    # These send their caller elsewhere, or end his session.
    return [page for page in found if not re.search("Special:(Random|UserLogout)", page)]


@pytest.mark.deep
@pytest.mark.seconds(300)
def test_every_special_page(admin):
    for page in special_pages(admin):
        answer = admin.get(page)
        assert answer.status in (200, 400, 403, 404), (page, answer.status)
        assert "</html>" in answer.text and "Internal error" not in answer.text, page


@pytest.fixture
def apache_with_wiki(wiki):
    base = wiki.base / "apache"
    base.mkdir()
    instance = apache.Apache(base, WIKI, wiki.data / "images",
                             f"SetEnv MW_CONFIG_FILE {wiki.data}/LocalSettings.php\nLogLevel php:info\nphp_value error_reporting -1",
                             APP_USER)
    yield instance
    instance.stop()


@pytest.mark.deep
@pytest.mark.seconds(600)
def test_no_notice_that_apache_does_not_show(wiki, apache_with_wiki):
    """The wiki's address is the one of Godwit; under Apache its pages are asked for one by one all the same."""
    def complaints(port, log, whole=False) -> set:
        browser = Browser(wiki, port)

        def visit():
            log_in(browser)
            for page in special_pages(browser) + ["/index.php/Main_Page", "/index.php?title=Main_Page&action=edit",
                                                  "/index.php?title=Main_Page&action=history", "/index.php/No_such_page",
                                                  "/load.php?modules=startup&only=scripts", "/index.php/Caf%C3%A9",
                                                  "/api.php?action=query&meta=siteinfo&format=json", "/index.php?title=%C3"]:
                assert browser.get(page).status < 500, page

        return notices.collect(visit, log, lambda name: browser.get(f"/index.php/Main_Page?mark={name}"), whole)

    theirs = complaints(apache_with_wiki.port, lambda: apache_with_wiki.log.read_text("utf-8", "replace"), True)
    ours = complaints(wiki.port, wiki.stderr.text)
    assert not ours - theirs


@pytest.mark.deep
@pytest.mark.seconds(300)
def test_in_a_browser(wiki):
    base = f"http://127.0.0.1:{wiki.port}"
    picture = wiki.base / "tern.png"
    picture.write_bytes(png(900, 600))
    page = chromium.Browser()
    try:
        page.go(base + "/")
        page.picture("mediawiki-main")
        page.until("mw.loader.getState('mediawiki.page.ready') == 'ready'")
        page.go(base + "/index.php?title=Special:UserLogin")
        page.fill("#wpName1", "Admin")
        page.fill("#wpPassword1", PASSWORD)
        page.leave(lambda: page.click("#wpLoginAttempt"))
        assert page.run("mw.config.get('wgUserName')") == "Admin"
        page.go(base + "/index.php/Special:Upload")
        page.choose_file("#wpUploadFile", picture)
        page.leave(lambda: page.click("input[name=wpUpload]"))
        assert page.run("mw.config.get('wgPageName')") == "File:Tern.png"
        page.go(base + "/index.php?title=Tern&action=edit")
        page.fill("#wpTextbox1", "== A tern ==\n[[File:Tern.png|thumb|300px|It flies, too]]\nIt flies from pole to pole.")
        page.leave(lambda: page.click("#wpSave"))
        page.picture("mediawiki-tern")
        assert "It flies from pole to pole." in page.text()
        shown = page.until("(i => i && i.complete && [i.naturalWidth, i.src])(document.querySelector('img.thumbimage'))")
        assert shown[0] == 300 and "/images/thumb/" in shown[1]
        page.go(base + "/index.php/Special:RecentChanges")
        page.until("document.body.innerText.includes('Tern')")
        assert not page.complaints(base)
    finally:
        page.close()
