# SPDX-License-Identifier: Apache-2.0
"""phpMyAdmin as the manual says (Debian's package), used in a browser: log in, browse, change, import a large dump."""
import shutil

import pytest

from support import apache, notices
from support.browser import Browser
from support.mariadb import MariaDb
from support.recipe import Recipe
from support.server import APP_USER, Godwit, make_base, remove_base

pytestmark = [pytest.mark.deep, pytest.mark.seconds(300)]
PASSWORD = "eleven days"
ROWS = 40000
# It keeps most complaints from the log by a handler of its own, and shows them below its pages.
MARK = notices.MARK.replace("trigger_error(", "error_log('PHP Warning:  ' . ").replace(", E_USER_WARNING", " . ' in /mark:1'")
SHOWN = "#pma_errors *"


@pytest.fixture(scope="module")
def database():
    instance = MariaDb()
    instance.sql(f"CREATE DATABASE birds; CREATE USER keeper@localhost IDENTIFIED BY '{PASSWORD}'; "
                 "GRANT ALL ON *.* TO keeper@localhost WITH GRANT OPTION; USE birds; "
                 "CREATE TABLE bird (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(80), days INT); "
                 "INSERT INTO bird (name, days) VALUES ('godwit', 11), ('Küstenseeschwalbe', 90)")
    yield instance
    instance.stop()


@pytest.fixture(scope="module")
def pma(database):
    """The package's files, moved to where the test may write."""
    instance = Godwit(make_base())
    code, etc, var = instance.base / "pma", instance.base / "etc", instance.data / "var"
    shutil.copytree("/usr/share/phpmyadmin", code)
    etc.mkdir()
    (etc / "conf.d").mkdir()
    (etc / "config.inc.php").write_text(open("/etc/phpmyadmin/config.inc.php", encoding="utf-8").read()
                                        .replace("/etc/phpmyadmin", str(etc)).replace("/var/lib/phpmyadmin", str(var))
                                        .replace("<?php", "<?php\n" + MARK, 1))
    (var / "tmp").mkdir(parents=True)
    (var / "tmp").chmod(0o777)
    (var / "blowfish_secret.inc.php").write_text(f"<?php $cfg['blowfish_secret'] = '{'x' * 32}';")
    vendor = code / "libraries" / "vendor_config.php"
    vendor.write_text(vendor.read_text().replace("/etc/phpmyadmin", str(etc)).replace("/var/lib/phpmyadmin", str(var)))
    recipe = Recipe(instance, "phpMyAdmin", "db.example", "phpmyadmin", {
        "dpkg-statoverride": ": dpkg-statoverride",
        "ini max_execution_time 600;": f"ini max_execution_time 600; ini mysqli.default_socket {database.socket}; "
                                       "ini error_reporting -1;",
    })
    recipe.shell()
    recipe.replace({"/usr/share/phpmyadmin": str(code), "/etc/phpmyadmin": str(etc), "/var/lib/phpmyadmin": str(var)})
    recipe.start()
    yield instance
    instance.finish()
    remove_base(instance)


def log_in(browser) -> None:
    browser.fill("#input_username", "keeper")
    browser.fill("#input_password", PASSWORD)
    browser.leave(lambda: browser.click("#input_go"))
    browser.until("!!document.querySelector('#server-breadcrumb')")
    browser.until("document.querySelector('#pma_navigation_tree').innerText.includes('birds')")


@pytest.fixture(scope="module")
def keeper(pma):
    browser = Browser()
    browser.base = f"http://127.0.0.1:{pma.port}"
    browser.go(browser.base + "/")
    browser.picture("phpmyadmin-login")
    assert not browser.complaints(browser.base)
    log_in(browser)
    browser.picture("phpmyadmin-home")
    yield browser
    browser.close()


@pytest.fixture
def page(keeper):
    keeper.forget()
    yield keeper
    assert not keeper.complaints(keeper.base)


def test_wrong_password(pma):
    browser = Browser()
    try:
        browser.go(f"http://127.0.0.1:{pma.port}/")
        browser.fill("#input_username", "keeper")
        browser.fill("#input_password", "wrong")
        browser.leave(lambda: browser.click("#input_go"))
        browser.until("document.body.innerText.includes('Access denied for user')")
    finally:
        browser.close()


def test_home(page):
    page.go(page.base + "/")
    assert "10.11" in page.text() or "MariaDB" in page.text()
    assert "Error" not in page.text()


def test_browse_and_change(page, database):
    page.go(page.base + "/index.php?route=/sql&db=birds&table=bird&pos=0")
    page.until("document.body.innerText.includes('Küstenseeschwalbe')")
    page.picture("phpmyadmin-browse")
    assert page.count("table.table_results tbody tr") == 2
    page.go(page.base + "/index.php?route=/table/structure&db=birds&table=bird")
    page.until("document.body.innerText.includes('AUTO_INCREMENT')")
    page.go(page.base + "/index.php?route=/table/change&db=birds&table=bird")
    page.fill("#field_2_3", "Zugvögel & <b>Co</b>")
    page.fill("#field_3_3", "7")
    page.click("#buttonYes")
    page.until("document.body.innerText.includes('1 row inserted')")
    assert database.sql("SELECT name, days FROM birds.bird WHERE id = 3") == "Zugvögel & <b>Co</b>\t7"
    database.sql("DELETE FROM birds.bird WHERE id = 3")


def test_a_query(page):
    page.go(page.base + "/index.php?route=/server/sql")
    # Its scripts come one after another, and empty the editor when they begin: who acts before they listen is not heard.
    page.until("((jQuery._data(document, 'events') || {}).submit || []).some(h => (h.selector || '').includes('sqlqueryform'))"
               " && !!document.querySelector('.CodeMirror') && !AJAX.active")
    query = 'SELECT 6 * 7 AS answer, "ä" AS letter'
    page.until(f"""(editor => editor.getValue() == {query!r} || editor.setValue({query!r}))(
        document.querySelector('.CodeMirror').CodeMirror)""")
    page.run("document.querySelector('#button_submit_query').click()")  # the page still moves
    page.until("!!document.querySelector('table.table_results') && document.querySelector('table.table_results').innerText.includes('42')")
    page.picture("phpmyadmin-query")


def pages_of_the_server(page) -> list:
    page.go(page.base + "/")
    links = page.run("[...document.querySelectorAll('#topmenu a')].map(a => a.href)")
    links = [link[len(page.base):] for link in links if "route=" in link]
    assert len(links) > 6, links
    return links + [f"/index.php?route={route}" for route in (
        "/database/structure&db=birds", "/database/designer&db=birds", "/table/search&db=birds&table=bird",
        "/table/relation&db=birds&table=bird", "/table/operations&db=birds&table=bird", "/preferences/manage",
        "/table/change&db=birds&table=bird", "/table/export&db=birds&table=bird", "/sql&db=birds&table=bird&pos=0")]


def test_every_page_of_the_server(page):
    for link in pages_of_the_server(page):
        page.go(page.base + link)
        assert not page.complaints(page.base), link
        assert page.count("#page_content") and not page.count(SHOWN), link


def dump(path) -> None:
    """More than 10 MB."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("DROP TABLE IF EXISTS flight;\nCREATE TABLE flight (id INT PRIMARY KEY, note TEXT) DEFAULT CHARSET=utf8mb4;\n")
        for start in range(0, ROWS, 500):
            rows = ",\n".join(f"({i}, '{i} {'über dem Meer ' * 18}')" for i in range(start, start + 500))
            file.write(f"INSERT INTO flight VALUES {rows};\n")
    assert path.stat().st_size > 10e6


def test_import_of_10_mb(page, pma, database):
    file = pma.base / "dump.sql"
    dump(file)
    page.go(page.base + "/index.php?route=/database/import&db=birds")
    assert "512" in page.text(), "the largest upload is shown"
    page.choose_file("#input_import_file", file)
    page.click("#buttonGo")
    page.until("document.body.innerText.includes('Import has been successfully finished')", 120)
    page.picture("phpmyadmin-import")
    assert database.sql("SELECT COUNT(*), MAX(LENGTH(note)) > 200 FROM birds.flight") == f"{ROWS}\t1"


def test_export(page, pma, database):
    """A dump goes out as it was made."""
    page.go(page.base + "/index.php?route=/table/export&db=birds&table=bird&single_table=true")
    got = page.run("""(async () => {
        const form = document.querySelector('form[name=dump]'), data = new URLSearchParams(new FormData(form));
        const answer = await fetch(form.action, {method: 'POST', body: data});
        return [answer.status, answer.headers.get('Content-Disposition'), await answer.text()];
    })()""")
    assert got[0] == 200 and "bird.sql" in got[1] and "INSERT INTO `bird`" in got[2] and "Küstenseeschwalbe" in got[2]


def test_what_nobody_may_fetch(pma):
    for target in ("/libraries/vendor_config.php", "/templates/base.twig", "/sql/create_tables.sql", "/libraries/"):
        assert pma.get(target).status == 403, target
    assert pma.get("/js/vendor/jquery/jquery.min.js").status == 200


@pytest.fixture
def apache_with_pma(pma, database):
    base = pma.base / "apache"
    base.mkdir()
    instance = apache.Apache(base, pma.base / "pma", pma.data, "LogLevel php:info\nphp_value error_reporting -1\n"
                             f"php_value mysqli.default_socket {database.socket}", APP_USER)
    yield instance
    instance.stop()


@pytest.mark.seconds(600)
def test_no_notice_that_apache_does_not_show(page, pma, apache_with_pma):
    seen = pages_of_the_server(page) + ["/index.php?route=/nothing/there", "/url.php?url=http://127.0.0.1/", "/show_config_errors.php"]

    def complaints(base, log, whole=False) -> set:
        def visit():
            page.fresh()
            page.go(base + "/")
            log_in(page)
            for target in seen:
                page.run(f"fetch({target!r}, {{redirect: 'manual'}}).then(r => r.text()).then(t => t.length)")

        return notices.collect(visit, log, lambda name: page.go(f"{base}/index.php?mark={name}"), whole)

    theirs = complaints(f"http://127.0.0.1:{apache_with_pma.port}",
                        lambda: apache_with_pma.log.read_text("utf-8", "replace"), True)
    ours = complaints(page.base, pma.stderr.text)
    page.forget()
    assert not ours - theirs
