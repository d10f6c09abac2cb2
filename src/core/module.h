// SPDX-License-Identifier: Apache-2.0
// module -- what a feature, backend or app brings: its directives, its place in the phases, its
// check. A module reads only its own conf struct, through module_conf. The list of all modules is
// main/modules.c; order there is the order of hooks.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "conf/key.h"

struct exchange;
struct scope;
struct snapshot;

// The steps of a request, in order. Within one, modules run in the order of main/modules.c.
enum phase {
    PHASE_REWRITE, // may change path or answer with a redirect
    PHASE_ACCESS,  // may refuse
    PHASE_LIMIT,   // may refuse or wait
    PHASE_CACHE,   // may answer
    PHASE_HANDLE,  // the first that takes the exchange answers it
    PHASE_COUNT
};

enum phase_result {
    PHASE_NEXT, // not mine, go on
    PHASE_DONE, // exchange_respond was or will be called: I own it now
    PHASE_WAIT  // exchange_resume will be called; then the same hook is not called again
};

struct module {
    const char *name;
    const struct key *keys;
    size_t key_count;
    // Rows of a block that one of the module's own directives takes (`app php { ... }`): scope
    // KEY_APP, fields of another struct. Applied by that directive's type through
    // module_apply_block applies the directives in `block`'s block (scope KEY_APP) to `conf` by the
    // rows
    // `keys`: for the type of a directive with a block (call key_defaults on `conf` first). Reports
    // unknown directives with a suggestion, wrong places, repetition and bad values, all of them.
    // False if any.
    MUST_USE bool module_apply_block(const struct tree_node *block, const struct key *keys,
                                     size_t count, struct arena *a, void *conf, struct err *err);

    // module_conf_at returns the module's conf struct of a scope.
    const void *module_conf_at(const struct scope *scope, const struct module *m);

    // module_conf returns the module's conf struct for the exchange's path.
    const void *module_conf(const struct exchange *ex, const struct module *m);
