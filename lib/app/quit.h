// SPDX-License-Identifier: Apache-2.0
// quit -- leaving on SIGTERM: at once when idle; after the request at hand, but not much later,
// when busy. One connection a process.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

// quit_watch takes over SIGTERM. Call once in a process that serves; not inherited usefully by
// fork: call again in the child.
void quit_watch(void);

// quit_keeper names this process's parent, whose death sends SIGTERM. That one is no wish to end:
// the server has clients to answer, needs its workers for that, and ends too, which closes the
// connection. Only the grace time bounds it.
void quit_keeper(pid_t pid);

// quit_on names the connection whose idle wait SIGTERM is to end; FD_NONE: none.
void quit_on(int fd);

// quit_busy tells that a request is being served. A SIGTERM that came before ends the process
// within the grace time all the same.
void quit_busy(bool on);

// quit_copying and quit_copied stand around a fork, the second in the copy only, where SIGTERM ends
// the process again; one that came in between does so at once.
void quit_copying(void);
void quit_copied(void);

// quit_wanted tells that SIGTERM has come.
bool quit_wanted(void);
