// SPDX-License-Identifier: Apache-2.0
// godwit_app -- how the process was started, and so what it does. The public functions about
// requests are in worker.c.
#include "godwit_app.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "os/fd.h"
#include "os/proc.h"
#include "os/sock.h"
#include "prefork.h"
#include "spawner.h"
#include "start.h"

enum start {
    START_UNKNOWN,
    START_GODWIT,
    START_LISTENING,
    START_CONNECTED,
};

static enum start start_find(void)
{
    int listens = 0;
    socklen_t len = sizeof listens;
    struct sock_addr peer = {.len = sizeof peer.u};
    if (getenv("GODWIT_CHANNEL"))
        return START_GODWIT;
    if (getsockopt(0, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens)
        return START_LISTENING;
    if (getpeername(0, &peer.u.any, &peer.len) == 0)
        return START_CONNECTED;
    return START_UNKNOWN;
}

bool godwit_app_is_started(void)
{
    return start_find() != START_UNKNOWN;
}

int godwit_app_listen(const char *address)
{
    struct sock_addr addr;
    if (!sock_addr_parse(str_c(address), &addr))
        return -EINVAL;
    int fd = sock_listen(&addr, 0600);
    if (fd < 0)
        return fd;
    int rc = dup2(fd, 0) < 0 ? -errno : 0;
    if (fd != 0)
        fd_close(&fd);
    return rc;
}

// Takes the server's variables out of the environment, which the application shows around.
static void forget_variables(void)
{
    static const struct str PREFIXES[] = {STR_INIT("GODWIT_"), STR_INIT("LSAPI_"),
                                          STR_INIT("PHP_LSAPI_")};
    for (size_t i = 0; environ && environ[i];) {
        struct str entry = str_c(environ[i]);
        bool ours = false;
        for (size_t p = 0; p < ARRAY_LEN(PREFIXES); p++)
            ours = ours || str_starts(entry, PREFIXES[p]);
        char name[256];
        size_t len = str_find(entry, '=');
        if (!ours || len >= sizeof name) {
            i++;
            continue;
        }
        memcpy(name, entry.ptr, len);
        name[len] = 0;
        if (unsetenv(name) < 0)
            i++;
    }
}

static int preload(const struct godwit_app_hooks *hooks)
{
    return hooks->preload ? hooks->preload(hooks->arg) : 0;
}

static int run_under_godwit(const struct godwit_app_hooks *hooks, int argc, char **argv)
{
    char app[64];
    struct spawner_start start;
    bool is_complete = start_read(&start);
    snprintf(app, sizeof app, "%s", start.app);
    start.app = app;
    forget_variables();
    proc_title_init(argc, argv);
    if (!is_complete) {
        fprintf(stderr, "godwit-app: GODWIT_CHANNEL does not name a socket\n");
        return 1;
    }
    int rc = preload(hooks);
    return rc ? rc : spawner_run(hooks, &start);
}

static int run_alone(const struct godwit_app_hooks *hooks, enum start how, int argc, char **argv)
{
    struct prefork_settings settings;
    prefork_settings_read(&settings);
    forget_variables();
    proc_title_init(argc, argv);
    int fd = fd_dup(0);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0 || null < 0 || dup2(null, 0) < 0 || dup2(2, 1) < 0) {
        perror("godwit-app: cannot arrange descriptors");
        return 1;
    }
    fd_close(&null);
    int rc = preload(hooks);
    if (rc)
        return rc;
    return how == START_CONNECTED ? prefork_connected(hooks, &settings, fd)
                                  : prefork_listening(hooks, &settings, fd);
}

int godwit_app_main(const struct godwit_app_hooks *hooks, int argc, char **argv)
{
    enum start how = start_find();
    switch (how) {
    case START_GODWIT:
        return run_under_godwit(hooks, argc, argv);
    case START_LISTENING:
    case START_CONNECTED:
        return run_alone(hooks, how, argc, argv);
    case START_UNKNOWN:
        break;
    }
    fprintf(stderr,
            "%s is a web application that a server starts.\n"
            "Run it with Godwit (\"godwit serve\"), or start it with a listening or connected\n"
            "socket as descriptor 0 under any server that speaks LSAPI.\n",
            argc > 0 ? argv[0] : "This program");
    return 64;
}
