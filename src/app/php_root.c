// SPDX-License-Identifier: Apache-2.0
// php_root -- see php_root.h.
#include "app/php_root.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "core/thread.h"
#include "event/loop.h"
#include "os/links.h"

#define PLACES  64      // of roots remembered by a thread
#define LOOK_US 1000000 // a root without links is looked at again after this time

struct place {
    char root[LINKS_PATH_BYTES];
    uint64_t looked_us;
    struct links links;
};

// A root has one place, and shares it with others: who comes looks anew.
static _Thread_local struct place places[PLACES];

static struct place *place_of(struct str root)
{
    return &places[hash_fixed(root) % PLACES];
}

static bool is_fresh(const struct place *p, struct str root, uint64_t now_us)
{
    if (!str_eq(str_c(p->root), root))
        return false;
    return p->links.count ? links_are_unchanged(&p->links) : now_us < p->looked_us + LOOK_US;
}

// What is too long to be remembered.
static struct str resolve_once(struct exchange *ex, struct str root)
{
    char *path = realpath(arena_dup(&ex->arena, root).ptr, NULL);
    struct str resolved = path ? arena_dup(&ex->arena, str_c(path)) : root;
    free(path); // NOLINT: realpath's own
    return resolved;
}

struct str php_root_resolve(struct exchange *ex, struct str root)
{
    struct place *p = place_of(root);
    uint64_t now_us = loop_now_us(ex->thread->loop);
    if (!root.len || root.len >= sizeof p->root)
        return root.len ? resolve_once(ex, root) : root;
    if (!is_fresh(p, root, now_us)) {
        memcpy(p->root, root.ptr, root.len);
        p->root[root.len] = '\0';
        p->looked_us = now_us;
        if (links_follow(p->root, &p->links) < 0) {
            p->root[0] = '\0';
            return resolve_once(ex, root);
        }
    }
    if (!p->links.count)
        return root;
    return arena_dup(&ex->arena, str_c(p->links.resolved));
}
