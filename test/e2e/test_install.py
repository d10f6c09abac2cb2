# SPDX-License-Identifier: Apache-2.0
"""What `make install` brings: programs, pages of the manual, units, documents."""
import os
import re
import subprocess

from support.server import GODWIT, ROOT


def test_install(godwit):
    subprocess.run(["meson", "install", "-C", GODWIT.parent, "--no-rebuild", "--quiet"], check=True,
                   env={**godwit.env, "DESTDIR": str(godwit.base / "root")})
    files = {p for p in (godwit.base / "root").rglob("*") if p.is_file()}
    there = [p.as_posix() for p in files]
    for name in ("bin/godwit", "libexec/godwit/godwit-php", "share/man/man5/godwit.conf.5", "share/man/man8/godwit.8",
                 "lib/systemd/system/godwit.service", "share/doc/godwit/LICENSE", "share/doc/godwit/README.md",
                 "share/doc/godwit/examples/site.conf"):
        assert any(path.endswith("/" + name) for path in there), name
    documents = {p.name for p in files if p.suffix == ".md" and p.parent.name == "doc"}
    assert documents == {p.name for p in (ROOT / "doc").glob("*.md")}
    unit = next(p for p in files if p.name == "godwit.service").read_text()
    program = re.search(r"^ExecStart=(\S+)", unit, re.M).group(1)
    assert os.access(f"{godwit.base}/root{program}", os.X_OK)
    assert re.search(r"^Type=notify$", unit, re.M) and re.search(r"^ExecReload=\S+ reload -n godwit$", unit, re.M)
