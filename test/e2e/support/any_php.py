# SPDX-License-Identifier: Apache-2.0
"""What holds of every program that runs PHP, whoever forks its processes."""
import pytest

from .http import Closed


def dies_behind_a_child(godwit, descriptors: str, event: str) -> None:
    """A child in the background has the connection too (one of `descriptors`, a pattern of names in /proc/PID/fd): the
    worker's end counts all the same, and so does what it wrote before."""
    godwit.file("die.php", f"""<?php if (isset($_GET['part'])) {{ echo str_repeat('p', 100000); flush(); }}
        exec("sh -c 'while [ ! -e {godwit.data}/open ]; do sleep 0.05; done' >/dev/null 2>&1 & echo $!", $out);
        if (!preg_grep('/^socket:/', array_map('readlink', glob("/proc/$out[0]/fd/{descriptors}")))) exit('it has none');
        posix_kill(getmypid(), 9);""")
    with godwit.connect(30) as c:
        assert c.get("/die.php").status == 502
    godwit.stderr.wait(event)
    with godwit.connect(30) as c:
        c.send(b"GET /die.php?part HTTP/1.1\r\nHost: x\r\n\r\n")
        assert c.head().status == 200
        got = 0
        with pytest.raises(Closed):
            while True:
                got += len(c.chunk())
        assert got == 100000
    (godwit.data / "open").touch()
