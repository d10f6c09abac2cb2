// SPDX-License-Identifier: Apache-2.0
// listen -- see listen.h.
#include "core/listen.h"

#include "os/sock.h"

#define LISTENERS_MAX 256

struct listen_conf {
    struct listen_address *items;
    size_t count;
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

// Takes "mode 0660" from the end of the arguments, if it is there. False: reported.
static bool take_mode(const struct tree_node *node, size_t *count, uint32_t *out_mode,
                      struct err *err)
{
    *out_mode = 0;
    size_t last = *count - 1;
    if (!last || !str_eq(node->args[last - 1], STR("mode")))
        return true;
    *count -= 2;
    if (read_mode(node->args[last], out_mode))
        return true;
    return tree_error(err, node->arg_pos[last],
                      "mode is \"%.*s\", permissions in octal such as 0660 were expected",
                      STR_ARG(node->args[last]));
}

static bool add(struct listen_conf *conf, struct str written, struct tree_pos pos, uint32_t mode,
                struct arena *a, struct err *err)
{
    struct sock_addr addr;
    char text[SOCK_TEXT_MAX];
    if (str_eq(written, STR("tls"))) {
        return tree_error(err, pos,
                          "this version does not speak TLS, only addresses were expected");
    }
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
    if (mode && addr.u.any.sa_family != AF_UNIX) {
        return tree_error(err, pos, "\"%.*s\" has a mode, a Unix socket was expected",
                          STR_ARG(written));
    }
    conf->items[conf->count++] = (struct listen_address){arena_dup(a, name), mode, pos};
    return true;
}

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    struct listen_conf *conf = field;
    uint32_t mode;
    if (!key_args_check(key, node, 1, TREE_ARGS_MAX, err))
        return false;
    size_t count = node->arg_count;
    bool ok = take_mode(node, &count, &mode, err);
    if (!conf->items)
        conf->items = arena_array(a, struct listen_address, LISTENERS_MAX);
    for (size_t i = 0; i < count; i++)
        ok = add(conf, node->args[i], node->arg_pos[i], mode, a, err) && ok;
    return ok;
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    (void)key;
    const struct listen_conf *conf = field;
    for (size_t i = 0; i < conf->count; i++) {
        buf_fmt(out, "%s", i ? "\n" : "");
        tree_quote(conf->items[i].text, out);
        if (conf->items[i].mode)
            buf_fmt(out, " mode %04o", (unsigned)conf->items[i].mode);
    }
}

static const struct key_type ADDRESSES = {"addresses", "ADDRESS... [mode MODE]", parse, print};

static const struct key KEYS[] = {
    {
        .name = "listen",
        .type = &ADDRESSES,
        .scopes = KEY_TOP,
        .help =
            "Addresses where connections are taken: PORT for all addresses of the machine, IPv4 and IPv6; "
            "127.0.0.1:PORT; [::1]:PORT; or unix:/PATH, whose file gets the permissions MODE (0666 without).",
        .example = "80 unix:/run/godwit/http.sock mode 0660",
        .repeats = true,
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
