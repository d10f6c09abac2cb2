// SPDX-License-Identifier: Apache-2.0
// listeners -- see listeners.h. The variables of socket activation: sd_listen_fds(3).
#include "keeper/listeners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "os/fd.h"

#define INHERITED_FIRST 3
#define INHERITED_MAX   256

static bool is_unix(const struct listener *listener)
{
    return listener->bound.u.any.sa_family == AF_UNIX;
}

static struct listener *find(const struct listeners *l, struct str address)
{
    list_foreach(&l->all, struct listener, node, listener)
        if (str_eq(str_c(listener->address), address))
            return listener;
    return NULL;
}

static struct listener *add(struct listeners *l, const struct sock_addr *addr, int fd)
{
    struct listener *listener = mem_new(struct listener);
    struct stat st;
    sock_addr_text(addr, listener->address);
    listener->fd = fd;
    if (sock_name(fd, &listener->bound) < 0)
        listener->bound = *addr;
    if (is_unix(listener) && stat(listener->bound.u.path.sun_path, &st) == 0) {
        listener->device = st.st_dev;
        listener->inode = st.st_ino;
    }
    list_push_back(&l->all, &listener->node);
    return listener;
}

static void free_listener(struct listener *listener)
{
    struct stat st;
    const char *path = listener->bound.u.path.sun_path;
    // Another instance may have put its socket there since.
    if (is_unix(listener) && !listener->is_inherited && stat(path, &st) == 0
        && st.st_dev == listener->device && st.st_ino == listener->inode)
        unlink(path);
    list_remove(&listener->node);
    fd_close(&listener->fd);
    mem_free(listener);
}

// Reads a number from the environment; 0 when it is missing or no number.
static uint64_t env_number(const char *name)
{
    uint64_t value = 0;
    return str_to_u64(str_c(getenv(name)), &value) ? value : 0;
}

static const char *why_unbound(int rc)
{
    if (rc == -EADDRINUSE)
        return "the address is in use (by another program, or by a wider or narrower address of "
               "this instance)";
    if (rc == -EACCES)
        return "no permission (ports below 1024 need root)";
    if (rc == -EADDRNOTAVAIL)
        return "this machine does not have the address";
    return strerror(-rc);
}

void listeners_init(struct listeners *l)
{
    list_init(&l->all);
}

bool listeners_inherit(struct listeners *l, struct err *err)
{
    bool for_us = env_number("LISTEN_PID") == (uint64_t)getpid();
    uint64_t count = for_us ? env_number("LISTEN_FDS") : 0;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (count > INHERITED_MAX)
        return err_set(err, "LISTEN_FDS names more than %d descriptors", INHERITED_MAX);
    bool good = true;
    for (int fd = INHERITED_FIRST; fd < INHERITED_FIRST + (int)count; fd++) {
        struct sock_addr addr;
        int rc = sock_adopt(fd);
        if (rc == 0)
            rc = sock_name(fd, &addr);
        if (rc == 0)
            add(l, &addr, fd)->is_inherited = true;
        else
            good = err_set(err, "inherited descriptor %d is not a listening socket: %s", fd,
                           strerror(-rc));
    }
    return good;
}

struct listener *listeners_open(struct listeners *l, struct str address, mode_t mode,
                                struct err *err)
{
    struct sock_addr addr;
    char text[SOCK_TEXT_MAX];
    if (!sock_addr_parse(address, &addr)) {
        err_set(err, "cannot listen on %.*s: not an address", STR_ARG(address));
        return NULL;
    }
    size_t len = sock_addr_text(&addr, text);
    struct listener *listener = find(l, str_n(text, len));
    if (!listener) {
        int fd = sock_listen(&addr, mode);
        if (fd < 0) {
            err_set(err, "cannot listen on %s: %s", text, why_unbound(fd));
            return NULL;
        }
        listener = add(l, &addr, fd);
    }
    listener->refs++;
    return listener;
}

void listeners_unref(struct listener *listener)
{
    ASSERT(listener->refs > 0);
    if (--listener->refs == 0 && !listener->is_inherited)
        free_listener(listener);
}

void listeners_done(struct listeners *l)
{
    list_foreach(&l->all, struct listener, node, listener)
        free_listener(listener);
}
