# SPDX-License-Identifier: Apache-2.0
"""webapps -- what bench/applications asks for: MediaWiki and WordPress, installed anew, and a page that tells about PHP."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path


class Page:
    """Files below `root`, a variable of the environment, the URL's path, a text of the answer, and what in it differs from
    answer to answer."""

    def __init__(self, root, variable, value, target, text, varies=None):
        self.root, self.variable, self.value, self.target = root, variable, value, target
        self.text, self.varies = text.encode(), varies and re.compile(varies)

    def constant(self, body: bytes) -> bytes:
        return self.varies.sub(b"", body) if self.varies else body


def as_www_data(command, **more) -> None:
    subprocess.run(["setpriv", "--reuid=www-data", "--regid=www-data", "--clear-groups", *command], check=True,
                   capture_output=True, timeout=200, **more)


def mediawiki(base: Path) -> Page:
    """On SQLite."""
    home = base / "wiki"
    home.mkdir()
    shutil.chown(home, "www-data", "www-data")
    as_www_data(["php", "/usr/share/mediawiki/maintenance/install.php", "--dbtype", "sqlite", "--dbname", "wiki", "--dbpath",
                 str(home / "db"), "--server", "http://127.0.0.1", "--scriptpath", "", "--confpath", str(home), "--pass",
                 "a long password", "Bench", "Admin"])
    with open(home / "LocalSettings.php", "a", encoding="utf-8") as file:
        file.write(f"$wgCacheDirectory = '{home}';\n$wgMainCacheType = CACHE_NONE;\n"
                   "$wgArticlePath = '/index.php/$1';\n$wgUsePathInfo = true;\n")
    return Page("/usr/share/mediawiki", "MW_CONFIG_FILE", f"{home}/LocalSettings.php", "/index.php/Main_Page",
                "MediaWiki has been installed", rb'(?<="wgRequestId":")[0-9a-f]+|(?<="wgBackendResponseTime":)\d+')


def wordpress(base: Path, database) -> Page:
    """On a MariaDB, `database` being one of test/e2e/support."""
    root, content = base / "wordpress", base / "wp-content"
    shutil.copytree("/usr/share/wordpress", root)
    shutil.copytree("/var/lib/wordpress/wp-content", content)
    (base / "etc").mkdir()
    config = (root / "wp-config.php").read_text()
    (root / "wp-config.php").write_text(config.replace("/etc/wordpress", str(base / "etc")))
    database.sql("CREATE DATABASE blog; CREATE USER 'www-data'@localhost IDENTIFIED VIA unix_socket; "
                 "GRANT ALL ON blog.* TO 'www-data'@localhost")
    (base / "etc" / "config-blog.php").write_text(
        f"<?php define('DB_NAME', 'blog'); define('DB_USER', 'www-data'); define('DB_PASSWORD', '');\n"
        f"define('DB_HOST', 'localhost:{database.socket}'); define('WP_CONTENT_DIR', '{content}');\n"
        "define('DISABLE_WP_CRON', true); define('WP_HTTP_BLOCK_EXTERNAL', true);\n"
        "define('WP_HOME', 'http://' . $_SERVER['HTTP_HOST']); define('WP_SITEURL', WP_HOME);\n")
    as_www_data(["php", "-r", f"""$_SERVER['HTTP_HOST'] = '127.0.0.1'; define('WP_INSTALLING', true);
        require '{root}/wp-load.php'; require ABSPATH . 'wp-admin/includes/upgrade.php';
        wp_install('Eleven Days', 'admin', 'admin@blog.example', true, '', 'a long password');
        update_option('permalink_structure', '/%postname%/'); flush_rewrite_rules();"""],
                env={"WORDPRESS_CONFIG": "blog", "PATH": os.environ["PATH"]})
    return Page(root, "WORDPRESS_CONFIG", "blog", "/hello-world/", "Welcome to WordPress")


# Parts of a PHP that belong to how it is reached: each has some that others cannot have.
OF_HOSTS = {"apache2handler", "cgi-fcgi", "embed", "litespeed", "pcntl"}


def facts(base: Path) -> Page:
    """What a PHP is made of and how it is set, as differences() takes it."""
    root = base / "facts"
    root.mkdir()
    (root / "index.php").write_text("""<?php echo json_encode(['version' => PHP_VERSION, 'umask' => umask(),
        'extensions' => array_merge(get_loaded_extensions(), get_loaded_extensions(true)),
        'settings' => ini_get_all(null, false), 'opcache' => opcache_get_configuration()['directives'],
        'is_cached' => opcache_get_status(false)['opcache_enabled'], 'jit' => opcache_get_status(false)['jit']['on']]);\n""")
    return Page(root, "GODWIT_FACTS", "1", "/index.php", '"extensions"')


def differences(own: bytes, other: bytes) -> list:
    """In what two PHPs are not alike that could make one of them cheaper."""
    a, b = json.loads(own), json.loads(other)
    found = [f"{key}: {a[key]!r}, {b[key]!r}" for key in ("version", "umask", "is_cached", "jit") if a[key] != b[key]]
    found += [f"extension {name}" for name in sorted((set(a["extensions"]) ^ set(b["extensions"])) - OF_HOSTS)]
    for kind in ("settings", "opcache"):
        found += [f"{name}: {a[kind][name]!r}, {b[kind][name]!r}" for name in sorted(a[kind].keys() & b[kind].keys())
                  if a[kind][name] != b[kind][name]]
    return found
