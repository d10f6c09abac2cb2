// SPDX-License-Identifier: Apache-2.0
// links -- see links.h.
#include "os/links.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

// The way that has been gone (links->resolved, without final slash) and what is left of it.
struct walk {
    struct links *links;
    size_t len; // of links->resolved
    char rest[2 * LINKS_PATH_BYTES];
};

static void go_up(struct walk *w)
{
    while (w->len > 0 && w->links->resolved[--w->len] != '/')
        continue;
    w->links->resolved[w->len] = '\0';
}

// Notes the link that the way leads to now, and puts its target in front of the rest.
static int turn(struct walk *w, const char *target, struct str rest)
{
    struct links *l = w->links;
    char joined[sizeof w->rest];
    if (l->count == LINKS_MAX)
        return -ENAMETOOLONG;
    memcpy(l->items[l->count].path, l->resolved, w->len + 1);
    memcpy(l->items[l->count].target, target, strlen(target) + 1);
    l->count++;
    go_up(w);
    if (target[0] == '/') {
        w->len = 0;
        l->resolved[0] = '\0';
    }
    int len = snprintf(joined, sizeof joined, "%s/%.*s", target, STR_ARG(rest));
    if (len < 0 || (size_t)len >= sizeof joined)
        return -ENAMETOOLONG;
    memcpy(w->rest, joined, (size_t)len + 1);
    return 0;
}

// Goes one segment on. `rest` lies in w->rest.
static int step(struct walk *w, struct str segment, struct str rest)
{
    struct links *l = w->links;
    char target[LINKS_PATH_BYTES];
    if (segment.len + 2 > sizeof l->resolved - w->len)
        return -ENAMETOOLONG;
    l->resolved[w->len] = '/';
    memcpy(l->resolved + w->len + 1, segment.ptr, segment.len);
    w->len += segment.len + 1;
    l->resolved[w->len] = '\0';
    ssize_t got = readlink(l->resolved, target, sizeof target);
    if (got < 0 && errno != EINVAL) // EINVAL: no link
        return -errno;
    if (got == (ssize_t)sizeof target)
        return -ENAMETOOLONG;
    if (got > 0) {
        target[got] = '\0';
        return turn(w, target, rest);
    }
    memmove(w->rest, rest.ptr ? rest.ptr : "", rest.len);
    w->rest[rest.len] = '\0';
    return 0;
}

int links_follow(const char *path, struct links *out)
{
    struct walk w = {.links = out};
    size_t len = strlen(path);
    out->count = 0;
    out->resolved[0] = '\0';
    if (path[0] != '/' || len >= sizeof w.rest)
        return path[0] == '/' ? -ENAMETOOLONG : -EINVAL;
    memcpy(w.rest, path, len + 1);
    while (w.rest[0]) {
        struct str rest = str_c(w.rest);
        struct str segment = str_cut(&rest, '/');
        bool is_up = str_eq(segment, STR(".."));
        if (is_up || !segment.len || str_eq(segment, STR("."))) {
            if (is_up)
                go_up(&w);
            memmove(w.rest, rest.ptr ? rest.ptr : "", rest.len);
            w.rest[rest.len] = '\0';
            continue;
        }
        int rc = step(&w, segment, rest);
        if (rc < 0)
            return rc;
    }
    if (!w.len)
        memcpy(out->resolved, "/", 2);
    return 0;
}

bool links_are_unchanged(const struct links *l)
{
    char target[LINKS_PATH_BYTES];
    for (unsigned i = 0; i < l->count; i++) {
        ssize_t got = readlink(l->items[i].path, target, sizeof target);
        size_t len = strlen(l->items[i].target);
        if (got < 0 || (size_t)got != len || memcmp(target, l->items[i].target, len) != 0)
            return false;
    }
    return true;
}
