// SPDX-License-Identifier: Apache-2.0
// snapshot -- one loaded configuration: sites, paths, each module's conf per scope. Immutable once
// started, counted; an exchange holds a reference from its head to its end. Freed by whichever
// thread drops the last one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "conf/key.h"
#include "conf/tree.h"

// One scope's conf blocks, indexed by module->index.
struct scope {
    void **confs;
    const struct scope *parent; // NULL at top
    uint64_t idle;              // bits by module->index: see module.idle
    struct tree_pos pos;
};

struct path {
    struct str prefix; // "/" or "/wiki/" (as written; matched at segment boundaries: /wiki also
                       // matches its directory)
    struct scope scope;
};

struct site {
    struct str name;   // first name given; used in logs, metrics and as default app name
    struct str *names; // lower case; "*.example.org" and "_" (any) allowed
    size_t name_count;
    struct scope scope;
    struct path *paths; // longest prefix first; the last one is "/"
    size_t path_count;
};

struct snapshot {
    uint32_t generation;
    struct arena arena;
    const struct tree_node *tree;
    struct scope top;
    struct site *sites; // in the order of the file; the first is the default for unknown hosts
    size_t site_count;
    // private
    _Atomic uint32_t refs;
    struct map hosts; // name -> site; "*.example.org" stands there as ".example.org"
    bool has_wildcards;
    const struct site *fallback; // for hosts that have no site: that of "_", or the first
};

// snapshot_build resolves a tree (borrowed for the snapshot's life: unpack it into empty->arena
// first) with all registered modules: unknown directives (with suggestion), wrong scopes, bad
// values, module checks. All errors are reported. Returns `empty`, now filled; NULL if there was
// any error: `empty` is then still the caller's to unref, and of no other use.
MUST_USE struct snapshot *snapshot_build(struct snapshot *empty, const struct tree_node *tree,
                                         struct err *err);

// snapshot_keys is the manual's rows of the structure directives that snapshot_build itself knows
// (site, path) and of include.
const struct key *snapshot_keys(size_t *out_count);

// snapshot_start calls each module's `start`; false refuses the snapshot. Control thread, once,
// before snapshot_commit.
MUST_USE bool snapshot_start(struct snapshot *s, struct err *err);

// snapshot_new is an empty one (refs 1) whose arena can take the tree.
MUST_USE struct snapshot *snapshot_new(uint32_t generation);

// snapshot_ref and snapshot_unref count. Any thread.
struct snapshot *snapshot_ref(struct snapshot *s);
void snapshot_unref(struct snapshot *s);

// snapshot_current returns a new reference to the one in use, NULL before the first commit. Any
// thread.
MUST_USE struct snapshot *snapshot_current(void);

// snapshot_commit makes `s` (taken over) the one in use, calls each module's `commit` and drops the
// old one; NULL only drops (the end of the process). Control thread.
void snapshot_commit(struct snapshot *s);

// snapshot_alive is how many exist: a metric.
unsigned snapshot_alive(void);

// snapshot_site finds the site for a host name (lower case, without port): exact, then longest
// wildcard, then "_", then the first site. NULL only when there are no sites.
const struct site *snapshot_site(const struct snapshot *s, struct str host);

// snapshot_path finds the path scope of a decoded URL path. Never NULL.
const struct path *snapshot_path(const struct site *site, struct str url_path);

// snapshot_is_below tells whether the prefix of a path scope covers a decoded URL path.
bool snapshot_is_below(struct str prefix, struct str url_path);
