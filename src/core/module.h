// SPDX-License-Identifier: Apache-2.0
// module -- what a feature, backend or app brings: its directives, its place in the phases, its
// check. A module reads only its own conf struct, through module_conf. The list of all modules is
// main/modules.c; order there is the order of hooks.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    // module_apply_block; listed here for the manual and suggestions.
    const struct key *block_keys;
    size_t block_key_count;
    size_t conf_size; // of the struct that keys fill, one per scope: a child scope starts as a copy
                      // of its parent's

    // check completes or refuses one resolved scope (KEY_TOP, KEY_SITE or KEY_PATH); pos is the
    // scope's place. May be NULL.
    bool (*check)(void *conf, unsigned scope, struct tree_pos pos, struct arena *a,
                  struct err *err);
    // check_path refuses what can't be in a path with this prefix, which stands at pos. After
    // check, for KEY_PATH only. May be NULL.
    bool (*check_path)(const void *conf, struct str prefix, struct tree_pos pos, struct err *err);
    // idle tells that the hooks, respond and log have nothing to do in a scope with this conf, so
    // that they need not be called there: asked once, when the scope is complete. May be NULL.
    bool (*idle)(const void *conf);
    // hooks: NULL where the module has nothing to do.
    enum phase_result (*hooks[PHASE_COUNT])(struct exchange *ex);
    // respond may change head or wrap the body source before the front sends (a filter). May be
    // NULL.
    void (*respond)(struct exchange *ex);
    // refuse is called when the server itself refuses with *status (exchange_refuse), before the
    // page is made: it may change the status, or call exchange_divert and return true. What could
    // not be understood (exchange_is_rejected) has no path yet. May be NULL.
    bool (*refuse)(struct exchange *ex, int *status);
    // log is called once when the exchange is over. May be NULL.
    void (*log)(struct exchange *ex);
    // runs_script tells whether the module's handler runs files of this name ("a.php") for the
    // exchange's path: then "/a.php/more" names a.php, and its source is never sent. May be NULL.
    bool (*runs_script)(const struct exchange *ex, struct str file_name);
    // start is called on the control thread for each new snapshot before it is used; false refuses
    // it. May be NULL.
    bool (*start)(struct snapshot *snapshot, struct err *err);
    // commit is called on the control thread right after the snapshot became current. May be NULL.
    void (*commit)(struct snapshot *snapshot);
    // private
    size_t index; // set by module_register
};

// module_register adds a module; before the first configuration is loaded. main/modules.c calls it
// in order.
void module_register(struct module *m);

#define MODULE_MAX 63 // so that a mask can be shifted by an index and one more

// Modules that have one kind of hook, in the order of registration.
struct module_list {
    struct module *items[MODULE_MAX];
    size_t count;
    uint64_t mask; // bits by module->index
};

// Who is to be called when: a request asks these only, not all modules.
struct module_lists {
    struct module_list hooks[PHASE_COUNT];
    struct module_list respond, refuse, log, runs_script;
};

// module_lists returns them; they are complete when the last module is registered.
const struct module_lists *module_lists(void);

// module_count and module_at walk the registered modules in order.
size_t module_count(void);
struct module *module_at(size_t index);

// module_key finds the row named `name` in all modules; *out_module is its owner. NULL: unknown.
const struct key *module_key(struct str name, struct module **out_module);

// module_apply_block applies the directives in `block`'s block (scope KEY_APP) to `conf` by the
// rows `keys`: for the type of a directive with a block (call key_defaults on `conf` first).
// Reports unknown directives with a suggestion, wrong places, repetition and bad values, all of
// them. False if any.
MUST_USE bool module_apply_block(const struct tree_node *block, const struct key *keys,
                                 size_t count, struct arena *a, void *conf, struct err *err);

// module_conf_at returns the module's conf struct of a scope.
const void *module_conf_at(const struct scope *scope, const struct module *m);

// module_conf returns the module's conf struct for the exchange's path.
const void *module_conf(const struct exchange *ex, const struct module *m);
