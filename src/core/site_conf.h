// SPDX-License-Identifier: Apache-2.0
// site_conf -- where a site's files are: the directives `root` and `index`, which static files and
// apps both need. Looks at no file; the loader checks that roots exist.
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "conf/key.h"
#include "core/module.h"
#include "core/snapshot.h"

struct exchange;

extern struct module site_conf_module;

// root in a site: the URL path is looked up below it. root in a path: it takes the place of the
// path's prefix, so that `path /wiki/ { root /usr/share/mediawiki; }` finds /wiki/load.php at
// /usr/share/mediawiki/load.php.
struct site_conf {
    // absolute, without final slash, NUL-terminated behind; empty: no files here. As it was
    // written: see site_conf_root.
    struct str root;
    struct key_words index; // names tried in a directory, in order
    bool in_path;           // root was given in the path: it replaces the prefix
    bool has_host;          // {host} stands in root
    // private
    const char *parent_root; // root.ptr of the parent scope
};

// site_conf returns the directives in force for the exchange's path.
const struct site_conf *site_conf(const struct exchange *ex);

// site_conf_at returns those of a scope.
const struct site_conf *site_conf_at(const struct scope *scope);

// site_conf_root is the root for this exchange: {host} is the host that was asked for. Empty when
// there is no root, or the host is none that may stand in a path: only letters, digits, "-" and
// single dots, none at the ends. Memory is the exchange's.
struct str site_conf_root(struct exchange *ex, const struct site_conf *conf);

// site_conf_fixed_root is the part of a root that is the same for all hosts: the root, or the
// directory above the first {host}.
struct str site_conf_fixed_root(struct str root);

// site_conf_prefix is the part of a URL path that the root stands for ("" or "/wiki", never with a
// final slash); a slice of `path`'s prefix. The file of URL path U is root + U without this prefix,
// which is then empty or begins with "/".
struct str site_conf_prefix(const struct path *path);
