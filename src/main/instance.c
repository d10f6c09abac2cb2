// SPDX-License-Identifier: Apache-2.0
// instance -- see instance.h.
#include "main/instance.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "keeper/runtime_dir.h"
#include "os/fd.h"
#include "os/sock.h"

#define NAME_BYTES_MAX 48 // leaves room for the base in the path of a socket

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.'
           || c == '_' || c == '-';
}

// Makes a name of any text.
static const char *clean(struct arena *a, struct str text)
{
    char *name = arena_alloc(a, NAME_BYTES_MAX + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len && len < NAME_BYTES_MAX; i++)
        if (len > 0 || text.ptr[i] != '.')
            name[len++] = (char)(is_name_byte(text.ptr[i]) ? text.ptr[i] : '-');
    return len > 0 ? name : "godwit";
}

static struct str last_part(const char *path)
{
    struct str text = str_c(path);
    while (text.len > 1 && text.ptr[text.len - 1] == '/')
        text.len--;
    size_t slash = str_rfind(text, '/');
    return slash < text.len ? str_skip(text, slash + 1) : text;
}

static const char *control_of(struct arena *a, const char *base, const char *name)
{
    return arena_fmt(a, "%s/%s/%s", base, name, RUNTIME_DIR_CONTROL).ptr;
}

// Tells whether somebody listens on the socket.
static bool is_running(struct arena *a, const char *path)
{
    struct sock_addr addr;
    if (!sock_addr_parse(arena_fmt(a, "unix:%s", path), &addr))
        return false;
    int fd = sock_connect(&addr);
    bool running = fd >= 0;
    fd_close(&fd);
    return running;
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// Tells whether this user may make the directory, or files in it if it is there.
static bool can_be_made(struct arena *a, const char *path)
{
    struct stat st;
    struct str there = str_c(path);
    while (there.len > 1 && stat(arena_cstr(a, there), &st) < 0)
        there = str_slice(there, 0, str_rfind(there, '/'));
    const char *found = there.len > 0 ? arena_cstr(a, there) : "/";
    return is_directory(found) && access(found, W_OK | X_OK) == 0;
}

// For users without a home. Everybody may make names in /dev/shm, so what is there counts only if
// it is this user's alone; once it is, nobody else can replace it.
static const char *own_place(struct arena *a, struct err *err)
{
    struct stat st;
    const char *path = arena_fmt(a, "/dev/shm/godwit-%u", geteuid()).ptr;
    const char *why = NULL;
    if ((mkdir(path, 0700) < 0 && errno != EEXIST) || lstat(path, &st) < 0)
        why = strerror(errno);
    else if (!S_ISDIR(st.st_mode))
        why = "it is no directory";
    else if (st.st_uid != geteuid())
        why = "it belongs to another user";
    else if ((st.st_mode & 07777) != 0700)
        why = "its mode is not 0700";
    if (!why)
        return path;
    err_set(err,
            "no directory for the control socket: XDG_RUNTIME_DIR is not set, the home directory "
            "cannot be used, nor can %s: %s (use --runtime DIR)",
            path, why);
    return NULL;
}

const char *instance_name(struct arena *a, const char *given, struct err *err)
{
    bool good = given[0] != '.' && given[0] != '\0' && strlen(given) <= NAME_BYTES_MAX;
    for (const char *c = given; *c && good; c++)
        good = is_name_byte(*c);
    if (good)
        return arena_dup(a, str_c(given)).ptr;
    err_set(
        err,
        "\"%s\" cannot be the name of an instance: up to %d letters, digits and \"._-\" can, not "
        "beginning with a dot",
        given, NAME_BYTES_MAX);
    return NULL;
}

const char *instance_name_of_file(struct arena *a, const char *path)
{
    struct str name = last_part(path);
    size_t dot = str_rfind(name, '.');
    return clean(a, dot > 0 ? str_slice(name, 0, dot) : name);
}

const char *instance_name_of_dir(struct arena *a, const char *path, const char *port)
{
    struct str name = str_slice(last_part(path), 0, NAME_BYTES_MAX - sizeof "-65535");
    if (name.len == 0)
        name = STR("root"); // of the file system
    return clean(a, arena_fmt(a, "%.*s-%s", STR_ARG(name), port));
}

const char *instance_base(struct arena *a, const char *given, struct err *err)
{
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    const char *home = getenv("HOME");
    if (given) {
        char *cwd = given[0] == '/' ? NULL : getcwd(NULL, 0);
        const char *path = cwd ? arena_fmt(a, "%s/%s", cwd, given).ptr : given;
        free(cwd); // getcwd's own memory
        return path;
    }
    if (geteuid() == 0)
        return "/run/godwit";
    if (xdg && xdg[0] == '/')
        return arena_fmt(a, "%s/godwit", xdg).ptr;
    const char *run_user = arena_fmt(a, "/run/user/%u", geteuid()).ptr;
    if (is_directory(run_user))
        return arena_fmt(a, "%s/godwit", run_user).ptr;
    const char *state =
        home && home[0] == '/' ? arena_fmt(a, "%s/.local/state/godwit", home).ptr : NULL;
    if (state && can_be_made(a, state))
        return state;
    return own_place(a, err);
}

const char *instance_find(struct arena *a, const char *base, const char *name, struct err *err)
{
    if (name) {
        const char *path = control_of(a, base, name);
        if (is_running(a, path))
            return path;
        err_set(err, "no instance named \"%s\" runs (looked in %s)", name, base);
        return NULL;
    }
    const char *found = NULL;
    size_t count = 0;
    struct buf names = {0};
    DIR *dir = opendir(base);
    for (struct dirent *entry = NULL; dir && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        const char *path = control_of(a, base, entry->d_name);
        if (!is_running(a, path))
            continue;
        buf_fmt(&names, "%s%s", count++ ? ", " : "", entry->d_name);
        found = path;
    }
    if (dir)
        closedir(dir);
    if (count == 0)
        err_set(err, "no instance runs (looked in %s)", base);
    else if (count > 1)
        err_set(err, "%zu instances run: %.*s; say which one with -n NAME", count,
                STR_ARG(buf_view(&names)));
    buf_done(&names);
    return count == 1 ? found : NULL;
}
