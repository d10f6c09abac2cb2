# SPDX-License-Identifier: Apache-2.0
"""Becomes the given program with sockets handed over as a service manager does: LISTEN_FDS from descriptor 3 on.

    exec_with_sockets.py FD,FD,... PROGRAM ARG...
"""
import os
import sys

sockets = [int(n) for n in sys.argv[1].split(",")]
high = [os.dup2(n, 200 + i) for i, n in enumerate(sockets)]
for i, n in enumerate(high):
    os.dup2(n, 3 + i)
    os.set_inheritable(3 + i, True)
    os.close(n)
os.environ["LISTEN_FDS"] = str(len(sockets))
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
