// SPDX-License-Identifier: Apache-2.0
// access -- see access.h. Rules of a path stand in front of those of its site, so that a path may
// be opened or closed without repeating the rest; the first that fits decides. Who fits none is
// refused if somebody is allowed: a list of friends without "deny all" is meant as one.
#include "feature/access.h"

#include <string.h>

#include "core/exchange.h"
#include "os/cidr.h"

enum who { ALL, UNIX, RANGE };

struct rule {
    bool allows;
    enum who who;
    struct cidr range;
};

struct rules {
    struct rule *items;
    size_t count;
    const struct rules *outer; // asked when none of these fits; NULL: none
};

struct access_conf {
    struct rules own; // of the scope that is being read
    // private
    const struct rules *all; // NULL: none
    bool has_allow;          // among all
};

static bool read_rule(const struct key *key, struct str text, struct tree_pos pos,
                      struct rule *rule, struct err *err)
{
    rule->who = RANGE;
    if (str_eq(text, STR("all"))) {
        rule->who = ALL;
        return true;
    }
    if (str_eq(text, STR("unix:"))) {
        rule->who = UNIX;
        return true;
    }
    switch (cidr_parse(text, &rule->range)) {
    case CIDR_OK:
        return true;
    case CIDR_HOST_BITS: {
        char room[CIDR_TEXT_MAX];
        (void)cidr_text(&rule->range, room);
        return tree_error(err, pos,
                          "\"%s\" has \"%.*s\", whose address is longer than its prefix, %s was "
                          "expected",
                          key->name, STR_ARG(text), room);
    }
    case CIDR_MALFORMED:
        break;
    }
    return tree_error(err, pos,
                      "\"%s\" has \"%.*s\", an address, a range such as 192.0.2.0/24 or "
                      "2001:db8::/32, unix: or all was expected",
                      key->name, STR_ARG(text));
}

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    struct rules *rules = field;
    if (!key_args_check(key, node, 1, TREE_ARGS_MAX, err))
        return false;
    bool ok = true;
    for (size_t i = 0; i < node->arg_count; i++) {
        struct rule rule = {.allows = str_eq(node->name, STR("allow"))};
        ok = read_rule(key, node->args[i], node->arg_pos[i], &rule, err) && ok;
        rules->items = arena_more(a, rules->items, rules->count, sizeof rule);
        rules->items[rules->count++] = rule;
    }
    return ok;
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    const struct rules *rules = field;
    bool allows = str_eq(str_c(key->name), STR("allow"));
    const char *gap = "";
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->items[i];
        char room[CIDR_TEXT_MAX];
        if (rule->allows != allows)
            continue;
        if (rule->who == RANGE)
            (void)cidr_text(&rule->range, room);
        buf_fmt(out, "%s%s", gap, rule->who == RANGE ? room : rule->who == UNIX ? "unix:" : "all");
        gap = " ";
    }
}

static const struct key_type TYPE = {"addresses", "ADDRESS...|all", parse, print};

static const struct key KEYS[] = {
    {
        .name = "allow",
        .type = &TYPE,
        .offset = offsetof(struct access_conf, own),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .help = "Lets clients in by their address: one, a range, unix: for those that come by a "
                "Unix socket, or all. Rules of allow and deny are tried in the order of the file, "
                "those of a path before those of its site; the first that fits decides. Where "
                "somebody is allowed, whom no rule fits is refused with 403. Behind a proxy see "
                "trusted_proxies.",
        .example = "192.0.2.0/24 2001:db8::/32",
        .repeats = true,
        .def_words = "everybody",
    },
    {
        .name = "deny",
        .type = &TYPE,
        .offset = offsetof(struct access_conf, own),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .help = "Refuses clients with 403 by their address; see allow.",
        .example = "all",
        .repeats = true,
        .def_words = "nobody",
    },
};

static bool check(void *arg, unsigned scope, struct tree_pos pos, struct arena *a, struct err *err)
{
    struct access_conf *conf = arg;
    (void)scope;
    (void)pos;
    (void)err;
    if (conf->own.count == 0)
        return true;
    struct rules *rules = arena_new(a, struct rules);
    *rules = conf->own;
    rules->outer = conf->all;
    for (size_t i = 0; i < rules->count; i++)
        conf->has_allow = conf->has_allow || rules->items[i].allows;
    conf->all = rules;
    conf->own = (struct rules){0};
    return true;
}

static bool fits(const struct rule *rule, const struct sock_addr *addr)
{
    switch (rule->who) {
    case ALL:
        return true;
    case UNIX:
        return addr->u.any.sa_family == AF_UNIX;
    case RANGE:
        return cidr_has(&rule->range, addr);
    }
    return false;
}

static bool may_come(const struct access_conf *conf, const struct sock_addr *addr)
{
    for (const struct rules *rules = conf->all; rules; rules = rules->outer)
        for (size_t i = 0; i < rules->count; i++)
            if (fits(&rules->items[i], addr))
                return rules->items[i].allows;
    return !conf->has_allow;
}

static enum phase_result access(struct exchange *ex)
{
    const struct access_conf *conf = module_conf(ex, &access_module);
    if (!conf->all || may_come(conf, &ex->peer->addr))
        return PHASE_NEXT;
    metrics_add(&ex->thread->metrics, access_refused, 1);
    exchange_refuse(ex, 403, NULL, "The rules of allow and deny refuse the address %s.",
                    ex->peer->ip);
    return PHASE_DONE;
}

static bool is_idle(const void *arg)
{
    const struct access_conf *conf = arg;
    return !conf->all;
}

struct module access_module = {
    .name = "access",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct access_conf),
    .idle = is_idle,
    .check = check,
    .hooks = {[PHASE_ACCESS] = access},
};
