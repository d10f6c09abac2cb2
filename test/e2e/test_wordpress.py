# SPDX-License-Identifier: Apache-2.0
"""WordPress as the manual says (Debian's package, MariaDB), installed by its own installer and used in a browser."""
import base64
import json
import os
import re
import shutil

import pytest

from support import apache, notices, wait
from support.browser import Browser
from support.mariadb import MariaDb
from support.pictures import png
from support.recipe import Recipe, app_user
from support.server import APP_USER, IS_ROOT, Godwit, make_base, remove_base

pytestmark = [pytest.mark.deep, pytest.mark.seconds(300)]
PASSWORD = "godwit flies eleven days"
EDITOR = "wp.data.select('core/editor')"


@pytest.fixture(scope="module")
def database():
    instance = MariaDb()
    yield instance
    instance.stop()


@pytest.fixture(scope="module")
def blog(database):
    """The package's files, moved to where the test may write."""
    instance = Godwit(make_base())
    code, content, etc = instance.base / "wordpress", instance.data / "var", instance.data / "etc"
    shutil.copytree("/usr/share/wordpress", code)
    shutil.copytree("/var/lib/wordpress", content)
    etc.mkdir()
    config = (code / "wp-config.php").read_text()
    (code / "wp-config.php").write_text(config.replace("/etc/wordpress", str(etc)))
    recipe = Recipe(instance, "WordPress", "blog.example", "blog", {
        "/var/lib/wordpress": str(content),
        "root /usr/share/wordpress": f"root {code}",
        "mariadb -u root": f"mariadb --no-defaults -u root -S {database.socket}",
        "/run/mysqld/mysqld.sock": database.socket,
        "blog@localhost": f"{app_user()}@localhost",
        "define('DB_USER', 'blog')": f"define('DB_USER', '{app_user()}')",
        "chown -R blog:": f"chown -R {APP_USER}:" if IS_ROOT else ": chown",
        # So that application passwords may be used without TLS.
        "env WORDPRESS_CONFIG blog;": "env WORDPRESS_CONFIG blog; env WP_ENVIRONMENT_TYPE local; ini error_reporting -1;",
    })
    recipe.shell()
    # Debugging switches all notices on; the address is whichever it is asked for, so that Apache can serve the blog, too.
    (etc / "config-blog.php").write_text(
        recipe.blocks[1] + notices.MARK + f"define('WP_CONTENT_DIR', '{content}/wp-content');\n"
        "define('WP_HTTP_BLOCK_EXTERNAL', true);\ndefine('WP_DEBUG', true);\ndefine('WP_DEBUG_DISPLAY', false);\n"
        "define('WP_HOME', 'http://' . $_SERVER['HTTP_HOST']);\ndefine('WP_SITEURL', WP_HOME);\n")
    (content / "wp-content/mu-plugins").mkdir()
    (content / "wp-content/mu-plugins/godwit.php").write_text(recipe.blocks[2])
    recipe.start()
    yield instance
    instance.finish()
    remove_base(instance)


def log_in(browser, base) -> None:
    """The page moves the focus while it loads: fields are filled in by script."""
    browser.fresh()
    browser.go(base + "/wp-login.php")
    browser.run(f"user_login.value = 'admin', user_pass.value = {json.dumps(PASSWORD)}, 1")
    browser.leave(lambda: browser.run("document.querySelector('#wp-submit').click()"))
    assert "Dashboard" in browser.text(), browser.text()


@pytest.fixture(scope="module")
def admin(blog):
    """A browser in which the administrator has installed WordPress and logged in."""
    browser = Browser()
    browser.base = f"http://127.0.0.1:{blog.port}"
    browser.go(browser.base + "/wp-admin/install.php")
    if browser.count("#language-continue"):
        browser.leave(lambda: browser.click("#language-continue"))
    browser.picture("wordpress-install")
    browser.fill("#weblog_title", "Eleven Days")
    browser.fill("#user_login", "admin")
    browser.until("document.querySelector('#pass1').value")
    browser.fill("#pass1", PASSWORD)
    browser.fill("#admin_email", "admin@blog.example")
    browser.leave(lambda: browser.click("#submit"))
    assert "Success!" in browser.text(), browser.text()
    assert not browser.complaints(browser.base)
    log_in(browser, browser.base)
    browser.picture("wordpress-dashboard")
    yield browser
    browser.close()


@pytest.fixture
def page(admin):
    """The administrator's browser; what it meets in the test must be right."""
    admin.forget()
    yield admin
    assert not admin.complaints(admin.base)


@pytest.fixture
def permalinks(page):
    """Addresses by name, chosen in the settings."""
    page.go(page.base + "/wp-admin/options-permalink.php")
    if page.run("document.querySelector('#permalink_structure').value") != "/%postname%/":
        page.click("input[value='/%postname%/']")
        page.leave(lambda: page.click("#submit"))
        assert "Permalink structure updated" in page.text()


def test_front_page(page):
    page.go(page.base + "/")
    page.picture("wordpress-front")
    assert "Eleven Days" in page.text()
    assert page.run("getComputedStyle(document.body).fontFamily") != "Times New Roman", "styles are there"


def test_post_with_a_picture_in_the_block_editor(page, permalinks, blog):
    file = blog.base / "bird.png"
    file.write_bytes(png(1600, 900))
    page.go(page.base + "/wp-admin/post-new.php")
    page.until(f"window.wp && wp.data && {EDITOR}.getCurrentPostId() && !!document.querySelector('.editor-post-title__input')")
    if page.count(".edit-post-welcome-guide, .components-guide"):
        page.run("wp.data.dispatch('core/edit-post').toggleFeature('welcomeGuide')")
        page.until("!document.querySelector('.components-guide')")
    page.click(".editor-post-title__input")
    page.type("A bird")
    page.press("Enter", 13)
    page.type("It flies for eleven days.")
    page.press("Enter", 13)
    page.until("wp.data.select('core/block-editor').getBlocks().length == 2")
    page.run("wp.data.dispatch('core/block-editor').insertBlocks(wp.blocks.createBlock('core/image')), 0")
    page.choose_file(".block-editor-block-list__layout .components-form-file-upload input[type=file]", file)
    page.until("wp.data.select('core/block-editor').getBlocks().some(b => b.attributes.id && b.attributes.url.startsWith('http'))", 60)
    page.picture("wordpress-editor")
    page.click(".editor-post-publish-panel__toggle")
    page.click(".editor-post-publish-panel .editor-post-publish-button")
    page.until(f"{EDITOR}.isCurrentPostPublished() && !{EDITOR}.isSavingPost()", 60)
    page.picture("wordpress-published")
    link = page.run(f"{EDITOR}.getPermalink()")
    assert link == page.base + "/a-bird/"
    page.go(link)
    page.picture("wordpress-post")
    assert "It flies for eleven days." in page.text()
    size = page.until("(i => i && i.complete && i.naturalWidth && [i.naturalWidth, i.currentSrc])(document.querySelector('figure.wp-block-image img'))")
    assert size[0] > 0 and "/wp-content/uploads/" in size[1]
    uploads = list((blog.data / "var/wp-content/uploads").rglob("bird-*.png"))
    assert len(uploads) >= 3, "smaller ones were made"


def test_permalinks_go_through_the_front_controller(page, permalinks, blog):
    page.go(page.base + "/hello-world/")
    page.picture("wordpress-hello")
    assert "Welcome to WordPress" in page.text() and page.where() == page.base + "/hello-world/"
    for target, status in (("/category/uncategorized/", 200), ("/feed/", 200), ("/sample-page/", 200), ("/?s=hello", 200),
                           ("/hello-world", 301), ("/no-such-page/", 404), ("/no/such.png", 404), ("/page/2/", 404),
                           ("/wp-sitemap.xml", 200), ("/robots.txt", 200), ("/hello-world/feed/", 200),
                           ("/caf%C3%A9/", 404), ("/index.php/hello-world/", 301), ("/wp-content/no.css", 404)):
        answer = blog.get(target, host=page.base[7:])
        assert answer.status == status, (target, answer.status, answer.text[:500])
    assert "Eleven Days" in blog.get("/no-such-page/", host=page.base[7:]).text, "WordPress's own page"
    assert "Disallow: /wp-admin/" in blog.get("/robots.txt", host=page.base[7:]).text
    answer = blog.get("/hello-world", host=page.base[7:])
    assert answer.header("Location") == page.base + "/hello-world/"


def test_rest_api(page, permalinks, blog):
    """By cookie and nonce, as the browser does, and by an application password."""
    page.go(page.base + "/wp-admin/profile.php")
    made = page.run("""fetch('/wp-json/wp/v2/users/me/application-passwords', {method: 'POST',
        headers: {'X-WP-Nonce': wpApiSettings.nonce, 'Content-Type': 'application/json'},
        body: JSON.stringify({name: 'test ' + Date.now()})}).then(r => r.json())""")
    secret = base64.b64encode(f"admin:{made['password']}".encode()).decode()

    def ask(method, target, body=None):
        headers = {"Authorization": f"Basic {secret}", "Content-Type": "application/json"}
        return blog.request(method, target, headers, json.dumps(body).encode() if body else None, page.base[7:])

    answer = ask("POST", "/wp-json/wp/v2/posts", {"title": "Über REST", "content": "made", "status": "publish"})
    assert answer.status == 201, answer.text
    post = json.loads(answer.text)
    assert answer.header("Location") == f"{page.base}/wp-json/wp/v2/posts/{post['id']}"
    where = f"/wp-json/wp/v2/posts/{post['id']}"
    assert json.loads(ask("PUT", where, {"content": "changed"}).text)["content"]["raw"] == "changed"
    assert json.loads(ask("DELETE", where + "?force=true").text)["deleted"] is True
    assert ask("GET", where).status == 404
    listed = blog.get("/wp-json/wp/v2/posts?per_page=1", host=page.base[7:])
    assert listed.status == 200 and int(listed.header("X-WP-Total")) >= 1 and "rel=\"https://api.w.org/\"" in \
        blog.get("/", host=page.base[7:]).header("Link")
    assert blog.request("POST", "/wp-json/wp/v2/posts", {}, b"", page.base[7:]).status == 401
    assert blog.request("OPTIONS", "/wp-json/wp/v2/posts", host=page.base[7:]).header("Allow") == "GET"


def test_wordpress_finds_itself_in_good_health(page, permalinks):
    """It calls itself over HTTP, and asks its own API."""
    page.go(page.base + "/wp-admin/site-health.php")
    for name in ("loopback-requests", "authorization-header"):
        got = page.run(f"""fetch('/wp-json/wp-site-health/v1/tests/{name}', {{headers: {{'X-WP-Nonce': wpApiSettings.nonce,
            ...('{name}' == 'authorization-header' ? {{Authorization: 'Basic ' + btoa('user:pwd')}} : {{}})}}}}).then(r => r.json())""")
        assert got.get("status") == "good", got


def test_a_stranger_comments(page, permalinks, blog):
    host = page.base[7:]
    form = blog.get("/hello-world/", host=host).text
    fields = dict(re.findall(r"name='(comment_post_ID|comment_parent)' value='(\d+)'", form))
    body = "&".join(f"{k}={v}" for k, v in {**fields, "author": "Stranger", "email": "s%40stranger.example", "url": "",
                                            "comment": "Na+so+was"}.items())
    answer = blog.request("POST", "/wp-comments-post.php", {"Content-Type": "application/x-www-form-urlencoded"}, body.encode(), host)
    assert answer.status == 302 and "unapproved=" in answer.header("Location")
    page.go(page.base + "/wp-admin/edit-comments.php")
    page.picture("wordpress-comments")
    assert "Na so was" in page.text()


def pages_of_the_administration(page) -> list:
    page.go(page.base + "/wp-admin/")
    links = page.run("[...document.querySelectorAll('#adminmenu a')].map(a => a.href)")
    found = sorted({link.split("#")[0][len(page.base):] for link in links if link.startswith(page.base)})
    assert len(found) > 20, found
    return found


def test_every_page_of_the_administration(page, permalinks):
    for link in pages_of_the_administration(page):
        page.go(page.base + link)
        assert not page.complaints(page.base), link
        assert page.count("#wpadminbar, .edit-site, .customize-controls-close"), link


def test_an_upload_of_20_mb(page, blog):
    data = os.urandom(20 << 20)
    file = blog.base / "song.mp3"
    file.write_bytes(b"ID3\x03\0\0\0\0\0\0" + data)
    page.go(page.base + "/wp-admin/media-new.php?browser-uploader")
    page.choose_file("#async-upload", file)
    page.leave(lambda: page.click("#html-upload"))
    found = wait.until(lambda: list((blog.data / "var/wp-content/uploads").rglob("song*.mp3")), 10, "the file")
    assert found[0].stat().st_size == file.stat().st_size


def test_what_nobody_may_fetch(blog, page):
    host = page.base[7:]
    (blog.data / "var/wp-content/uploads/evil.php").write_text("<?php echo 'ran';")
    assert blog.get("/wp-content/uploads/evil.php", host=host).status in (403, 404)
    assert blog.request("POST", "/xmlrpc.php", {}, b"<x/>", host).status == 403
    assert blog.get("/wp-config.php", host=host).body == b""
    assert blog.get("/.htaccess", host=host).status in (403, 404)


APACHE = """
    SetEnv WORDPRESS_CONFIG blog
    php_value error_reporting -1
    LogLevel php:info
    php_value upload_max_filesize 64M
    php_value post_max_size 64M
    DirectoryIndex index.php
    FallbackResource /index.php
    Alias /wp-content {content}
    <Directory {content}>
        Require all granted
    </Directory>
"""


@pytest.fixture
def apache_with_blog(blog):
    base = blog.base / "apache"
    base.mkdir()
    content = blog.data / "var/wp-content"
    instance = apache.Apache(base, blog.base / "wordpress", content, APACHE.format(content=content), APP_USER)
    yield instance
    instance.stop()


@pytest.mark.seconds(600)
def test_no_notice_that_apache_does_not_show(page, permalinks, blog, apache_with_blog):
    seen = pages_of_the_administration(page) + [
        "/", "/hello-world/", "/sample-page/", "/feed/", "/no-such-page/", "/?s=hello", "/category/uncategorized/", "/?p=1",
        "/wp-json/", "/wp-json/wp/v2/posts", "/wp-sitemap.xml", "/wp-login.php?action=lostpassword", "/wp-cron.php", "/index.php"]

    def complaints(base, log, whole=False) -> set:
        def visit():
            log_in(page, base)
            for target in seen:
                page.run(f"fetch({json.dumps(target)}).then(r => r.text()).then(t => t.length)")

        return notices.collect(visit, log, lambda name: page.go(f"{base}/?mark={name}"), whole)

    theirs = complaints(f"http://127.0.0.1:{apache_with_blog.port}",
                        lambda: apache_with_blog.log.read_text("utf-8", "replace"), True)
    ours = complaints(page.base, blog.stderr.text)
    page.forget()
    # Whether it tries to reach wordpress.org depends on when it has tried last.
    more = sorted(m for m in ours - theirs if "wrong with WordPress.org" not in m)
    assert not more, "\n".join([*more, "--- Apache", *sorted(theirs)])
