// SPDX-License-Identifier: Apache-2.0
// trusted_proxies -- see trusted_proxies.h. The list of addresses is read from its end: each proxy
// adds the one that it has seen. The first that is no trusted proxy is the client; what stands
// before it anybody could have written.
#include "feature/trusted_proxies.h"

#include <string.h>

#include "core/exchange.h"
#include "http/forwarded.h"
#include "http/header.h"
#include "os/cidr.h"

enum { BY_X_FORWARDED, BY_FORWARDED }; // as in WORDS

static const char *const WORDS[] = {"x-forwarded", "forwarded", NULL};

struct trusted_proxies_conf {
    struct cidr *ranges;
    size_t count;
    bool trusts_unix;
    int header;
};

static bool read_range(struct str text, struct tree_pos pos, struct trusted_proxies_conf *conf,
                       struct err *err)
{
    char room[CIDR_TEXT_MAX];
    struct cidr *range = &conf->ranges[conf->count];
    if (str_eq(text, STR("unix:"))) {
        conf->trusts_unix = true;
        return true;
    }
    switch (cidr_parse(text, range)) {
    case CIDR_OK:
        conf->count++;
        return true;
    case CIDR_HOST_BITS:
        (void)cidr_text(range, room);
        return tree_error(err, pos,
                          "\"trusted_proxies\" has \"%.*s\", whose address is longer than its "
                          "prefix, %s was expected",
                          STR_ARG(text), room);
    case CIDR_MALFORMED:
        break;
    }
    return tree_error(err, pos,
                      "\"trusted_proxies\" has \"%.*s\", an address, a range such as 192.0.2.0/24 "
                      "or 2001:db8::/32, or unix: was expected",
                      STR_ARG(text));
}

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    struct trusted_proxies_conf *conf = field;
    if (!key_args_check(key, node, 1, TREE_ARGS_MAX, err))
        return false;
    struct trusted_proxies_conf made = {.header = conf->header};
    bool ok = true;
    if (node->arg_count > 1 || !str_eq(node->args[0], STR("off"))) {
        made.ranges = arena_array(a, struct cidr, node->arg_count);
        for (size_t i = 0; i < node->arg_count; i++)
            ok = read_range(node->args[i], node->arg_pos[i], &made, err) && ok;
    }
    if (ok)
        *conf = made;
    return ok;
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    const struct trusted_proxies_conf *conf = field;
    (void)key;
    for (size_t i = 0; i < conf->count; i++) {
        char room[CIDR_TEXT_MAX];
        (void)cidr_text(&conf->ranges[i], room);
        buf_fmt(out, "%s%s", i ? " " : "", room);
    }
    if (conf->trusts_unix)
        buf_fmt(out, "%sunix:", conf->count ? " " : "");
    else if (conf->count == 0)
        buf_fmt(out, "off");
}

static const struct key_type TYPE = {"addresses", "ADDRESS...|off", parse, print};

static const struct key KEYS[] = {
    {
        .name = "trusted_proxies",
        .type = &TYPE,
        .scopes = KEY_TOP | KEY_SITE,
        .def = "off",
        .help = "Proxies that are believed when they say who the client is: addresses, ranges, or "
                "unix: for those that come by a Unix socket. The last address of X-Forwarded-For "
                "that is none of them is the client's, for rules of access, limits, logs and "
                "REMOTE_ADDR; X-Forwarded-Proto says whether it used TLS (HTTPS, redirect_https). "
                "They must set or remove these headers themselves: what clients send is passed on "
                "by some.",
        .example = "10.0.0.0/24 2001:db8::5",
    },
    {
        .name = "trusted_proxies_header",
        .type = &KEY_ENUM,
        .offset = offsetof(struct trusted_proxies_conf, header),
        .scopes = KEY_TOP | KEY_SITE,
        .def = "x-forwarded",
        .help = "Which headers the trusted proxies set: X-Forwarded-For and X-Forwarded-Proto, or "
                "Forwarded (RFC 7239). The other one is not looked at, since a client may have "
                "sent it.",
        .example = "forwarded",
        .words = WORDS,
    },
};

static bool is_trusted(const struct trusted_proxies_conf *conf, const struct sock_addr *addr)
{
    if (addr->u.any.sa_family == AF_UNIX)
        return conf->trusts_unix;
    for (size_t i = 0; i < conf->count; i++)
        if (cidr_has(&conf->ranges[i], addr))
            return true;
    return false;
}

// What the proxies have said, as far as they are believed.
struct client {
    struct sock_addr addr; // len 0: not said
    unsigned port;
    struct str proto; // empty: not said
    unsigned local_port;
};

static void walk(const struct trusted_proxies_conf *conf, const struct forwarded_hop *hops,
                 size_t count, struct client *out)
{
    for (size_t i = count; i-- > 0;) {
        struct sock_addr addr;
        if (!cidr_ip(hops[i].ip, &addr))
            return;
        out->addr = addr;
        out->port = hops[i].port;
        if (hops[i].proto.len)
            out->proto = hops[i].proto;
        if (!is_trusted(conf, &addr))
            return;
    }
}

static struct str last_member(const struct header_list *headers, enum header_id id)
{
    struct str value = header_list_joined(headers, id);
    struct str member;
    struct str last = {0};
    while (header_next_member(&value, &member))
        last = member;
    return last;
}

static struct client find_client(struct exchange *ex, const struct trusted_proxies_conf *conf)
{
    struct client client = {0};
    struct forwarded_hop hops[FORWARDED_HOPS_MAX];
    const struct header_list *headers = &ex->req.headers;
    if (conf->header == BY_FORWARDED) {
        struct str value = header_list_joined(headers, HEADER_FORWARDED);
        walk(conf, hops, forwarded_elements(value, &ex->arena, hops), &client);
        return client;
    }
    struct str value = header_list_joined(headers, HEADER_X_FORWARDED_FOR);
    walk(conf, hops, forwarded_list(value, hops), &client);
    client.proto = last_member(headers, HEADER_X_FORWARDED_PROTO);
    const struct header *port = header_list_find(headers, STR("X-Forwarded-Port"));
    uint64_t number;
    if (port && str_to_u64(port->value, &number) && number > 0 && number <= 65535)
        client.local_port = (unsigned)number;
    return client;
}

static void put_client(struct exchange *ex, const struct client *client)
{
    struct peer *peer = arena_new(&ex->arena, struct peer);
    *peer = *ex->peer;
    if (client->addr.len) {
        unsigned none;
        peer->addr = client->addr;
        (void)sock_addr_ip(&client->addr, peer->ip, &none);
        peer->port = client->port;
    }
    bool is_https = str_eq_nocase(client->proto, STR("https"));
    if (is_https || str_eq_nocase(client->proto, STR("http"))) {
        peer->is_tls = is_https;
        peer->local_port = is_https ? 443 : 80;
    }
    if (client->local_port)
        peer->local_port = client->local_port;
    ex->peer = peer;
}

static enum phase_result rewrite(struct exchange *ex)
{
    const struct trusted_proxies_conf *conf = module_conf(ex, &trusted_proxies_module);
    if (conf->count == 0 && !conf->trusts_unix)
        return PHASE_NEXT;
    // Once: the client that was found may itself have a trusted address.
    if (exchange_is_rewritten(ex) || !is_trusted(conf, &ex->peer->addr))
        return PHASE_NEXT;
    struct client client = find_client(ex, conf);
    if (client.addr.len || client.proto.len || client.local_port)
        put_client(ex, &client);
    return PHASE_NEXT;
}

static bool is_idle(const void *arg)
{
    const struct trusted_proxies_conf *conf = arg;
    return conf->count == 0 && !conf->trusts_unix;
}

struct module trusted_proxies_module = {
    .name = "trusted_proxies",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct trusted_proxies_conf),
    .idle = is_idle,
    .hooks = {[PHASE_REWRITE] = rewrite},
};
