// SPDX-License-Identifier: Apache-2.0
// listen -- see listen.h.
#include "core/listen.h"

#include "os/cidr.h"
#include "os/sock.h"

#define LISTENERS_MAX 256

// Who is believed by proxy_protocol.
struct believed {
    struct cidr *ranges;
    size_t count;
    bool has_unix;
};

struct listen_conf {
    struct listen_address *items;
    size_t count;
    struct believed believed;
};

static const struct listen_address *find(const struct listen_conf *conf, struct str text)
{
    for (size_t i = 0; i < conf->count; i++) {
        if (str_eq(conf->items[i].text, text))
            return &conf->items[i];
    }
    return NULL;
}

// Reads a file mode in octal, with or without a leading 0.
static bool read_mode(struct str text, uint32_t *out)
{
    uint32_t mode = 0;
    if (text.len < 3 || text.len > 4)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '7')
            return false;
        mode = mode * 8 + (uint32_t)(text.ptr[i] - '0');
    }
    *out = mode;
    return mode && mode <= 0777;
}

// Takes the words behind the addresses, into *out. False: reported.
static bool take_options(const struct tree_node *node, size_t *count, struct listen_address *out,
                         struct err *err)
{
    while (*count > 1) {
        size_t last = *count - 1;
        if (str_eq(node->args[last], STR("tls"))) {
            out->tls = true;
            *count -= 1;
        } else if (str_eq(node->args[last], STR("proxy_protocol"))) {
            out->proxy_protocol = true;
            *count -= 1;
        } else if (last > 1 && str_eq(node->args[last - 1], STR("mode"))) {
            *count -= 2;
            if (!read_mode(node->args[last], &out->mode)) {
                return tree_error(
                    err, node->arg_pos[last],
                    "mode is \"%.*s\", permissions in octal such as 0660 were expected",
                    STR_ARG(node->args[last]));
            }
        } else {
            break;
        }
    }
    return true;
}

static bool add(struct listen_conf *conf, struct str written, const struct listen_address *options,
                struct arena *a, struct err *err)
{
    struct sock_addr addr;
    char text[SOCK_TEXT_MAX];
    struct tree_pos pos = options->pos;
    if (!sock_addr_parse(written, &addr)) {
        return tree_error(
            err, pos,
            "\"%.*s\" is no address, PORT, ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH was expected",
            STR_ARG(written));
    }
    struct str name = str_n(text, sock_addr_text(&addr, text));
    const struct listen_address *first = find(conf, name);
    if (first) {
        return tree_error(
            err, pos, "address \"%.*s\" stands here again, once was expected (first at %s:%u:%u)",
            STR_ARG(written), first->pos.file, first->pos.line, first->pos.column);
    }
    if (conf->count == LISTENERS_MAX)
        return tree_error(err, pos, "too many addresses, at most %d were expected", LISTENERS_MAX);
    if (options->mode && addr.u.any.sa_family != AF_UNIX) {
        return tree_error(err, pos, "\"%.*s\" has a mode, a Unix socket was expected",
                          STR_ARG(written));
    }
    struct listen_address *made = &conf->items[conf->count++];
    *made = *options;
    made->text = arena_dup(a, name);
    return true;
}

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    struct listen_conf *conf = field;
    struct listen_address options = {0};
    if (!key_args_check(key, node, 1, TREE_ARGS_MAX, err))
        return false;
    size_t count = node->arg_count;
    bool ok = take_options(node, &count, &options, err);
    if (!conf->items)
        conf->items = arena_array(a, struct listen_address, LISTENERS_MAX);
    for (size_t i = 0; i < count; i++) {
        options.pos = node->arg_pos[i];
        ok = add(conf, node->args[i], &options, a, err) && ok;
    }
    return ok;
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    (void)key;
    const struct listen_conf *conf = field;
    for (size_t i = 0; i < conf->count; i++) {
        buf_fmt(out, "%s", i ? "\n" : "");
        tree_quote(conf->items[i].text, out);
        buf_fmt(out, "%s%s", conf->items[i].tls ? " tls" : "",
                conf->items[i].proxy_protocol ? " proxy_protocol" : "");
        if (conf->items[i].mode)
            buf_fmt(out, " mode %04o", (unsigned)conf->items[i].mode);
    }
}

static bool add_believed(struct believed *b, struct str text, struct tree_pos pos, struct err *err)
{
    if (str_eq(text, STR("unix:"))) {
        b->has_unix = true;
        return true;
    }
    if (cidr_parse(text, &b->ranges[b->count]) != CIDR_OK) {
        return tree_error(err, pos,
                          "\"proxy_protocol_from\" has \"%.*s\", an address, a range such as "
                          "192.0.2.0/24 or 2001:db8::/32, or unix: was expected",
                          STR_ARG(text));
    }
    b->count++;
    return true;
}

static bool parse_believed(const struct key *key, const struct tree_node *node, struct arena *a,
                           void *field, struct err *err)
{
    struct believed made = {0};
    if (!key_args_check(key, node, 1, TREE_ARGS_MAX, err))
        return false;
    made.ranges = arena_array(a, struct cidr, node->arg_count);
    for (size_t i = 0; i < node->arg_count; i++)
        if (!add_believed(&made, node->args[i], node->arg_pos[i], err))
            return false;
    *(struct believed *)field = made;
    return true;
}

static void print_believed(const struct key *key, const void *field, struct buf *out)
{
    (void)key;
    const struct believed *b = field;
    buf_fmt(out, "%s", b->has_unix ? "unix:" : "");
    for (size_t i = 0; i < b->count; i++) {
        char room[CIDR_TEXT_MAX];
        (void)cidr_text(&b->ranges[i], room);
        buf_fmt(out, "%s%s", i || b->has_unix ? " " : "", room);
    }
}

static const struct key_type ADDRESSES = {
    "addresses", "ADDRESS... [tls] [proxy_protocol] [mode MODE]", parse, print};
static const struct key_type BELIEVED = {"addresses", "ADDRESS...", parse_believed, print_believed};

static const struct key KEYS[] = {
    {
        .name = "listen",
        .type = &ADDRESSES,
        .scopes = KEY_TOP,
        .help =
            "Addresses where connections are taken: PORT for all addresses of the machine, IPv4 and IPv6; "
            "127.0.0.1:PORT; [::1]:PORT; or unix:/PATH, whose file gets the permissions MODE (0666 without). "
            "tls has TLS spoken there (certificate, key). proxy_protocol expects the header of the "
            "PROXY protocol, version 1 or 2, before all else (proxy_protocol_from).",
        .example = "80 unix:/run/godwit/http.sock mode 0660",
        .repeats = true,
    },
    {
        .name = "proxy_protocol_from",
        .type = &BELIEVED,
        .offset = offsetof(struct listen_conf, believed),
        .scopes = KEY_TOP,
        .def = "unix: 127.0.0.0/8 ::1",
        .help =
            "Balancers that may connect where listen says proxy_protocol: addresses, ranges, or unix: for those "
            "that come by a Unix socket. Connections of others are closed at once, since the header says who "
            "the client is.",
        .example = "10.0.0.0/24",
    },
};

struct module listen_module = {
    .name = "listen",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct listen_conf),
};

const struct listen_address *listen_addresses(const struct snapshot *s, size_t *out_count)
{
    const struct listen_conf *conf = module_conf_at(&s->top, &listen_module);
    *out_count = conf->count;
    return conf->items;
}

const struct listen_address *listen_find(const struct snapshot *s, struct str text)
{
    return find(module_conf_at(&s->top, &listen_module), text);
}

bool listen_believes(const struct snapshot *s, const struct sock_addr *peer)
{
    const struct listen_conf *conf = module_conf_at(&s->top, &listen_module);
    const struct believed *b = &conf->believed;
    if (peer->u.any.sa_family == AF_UNIX)
        return b->has_unix;
    for (size_t i = 0; i < b->count; i++)
        if (cidr_has(&b->ranges[i], peer))
            return true;
    return false;
}
