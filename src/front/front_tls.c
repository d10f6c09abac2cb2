// SPDX-License-Identifier: Apache-2.0
// front_tls -- see front_tls.h.
#include "front/front_tls.h"

#include <stddef.h>

#include "net/tls.h"

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    struct front_tls_file *file = field;
    if (!key_args_check(key, node, 1, 2, err))
        return false;
    file->path = key_path(node, node->args[0], a);
    file->text = node->arg_count == 2 ? node->args[1] : (struct str){0};
    file->pos = node->arg_pos[0];
    return true;
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    const struct front_tls_file *file = field;
    (void)key;
    tree_quote(file->path, out);
}

static const struct key_type FILE_TEXT = {"path", "PATH", parse, print};

static const struct key KEYS[] = {
    {
        .name = "certificate",
        .type = &FILE_TEXT,
        .offset = offsetof(struct front_tls_conf, certificate),
        .scopes = KEY_TOP,
        .help = "File with the certificate for listeners with tls, in PEM, and behind it those of "
                "its issuers but the last. It is read when the configuration is loaded, by the "
                "user who started the instance.",
        .example = "/etc/ssl/certs/www.pem",
    },
    {
        .name = "key",
        .type = &FILE_TEXT,
        .offset = offsetof(struct front_tls_conf, key),
        .scopes = KEY_TOP,
        .help = "File with the private key of the certificate, in PEM and without a password. Only "
                "the user who started the instance has to be able to read it.",
        .example = "/etc/ssl/private/www.key",
    },
};

static void free_context(void *context)
{
    tls_context_free(context);
}

static bool check(void *arg, unsigned scope, struct tree_pos pos, struct arena *a, struct err *err)
{
    struct front_tls_conf *conf = arg;
    (void)pos;
    if (scope != KEY_TOP || !conf->certificate.text.len || !conf->key.text.len)
        return true;
    enum tls_result result;
    conf->context = tls_context_new(conf->certificate.text, conf->key.text, &result);
    if (conf->context) {
        arena_defer(a, free_context, conf->context);
        return true;
    }
    const struct front_tls_file *file =
        result == TLS_BAD_CERTIFICATE ? &conf->certificate : &conf->key;
    return tree_error(err, file->pos, "\"%.*s\" %s", STR_ARG(file->path), tls_result_text(result));
}

struct module front_tls_module = {
    .name = "tls",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct front_tls_conf),
    .check = check,
};

const struct front_tls_conf *front_tls_conf(const struct snapshot *s)
{
    return module_conf_at(&s->top, &front_tls_module);
}

bool front_tls_start(struct stream *s)
{
    struct snapshot *snapshot = snapshot_current();
    struct tls_context *context = snapshot ? front_tls_conf(snapshot)->context : NULL;
    bool ok = context && tls_start(s, context) == 0;
    snapshot_unref(snapshot);
    return ok;
}
