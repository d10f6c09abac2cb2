// SPDX-License-Identifier: Apache-2.0
// loader_tls -- see loader_tls.h.
#include "main/loader_tls.h"

#include <errno.h>
#include <string.h>

#include "core/listen.h"
#include "front/front_tls.h"
#include "net/tls.h"
#include "os/file.h"

#define FILE_BYTES_MAX ((size_t)(1024 * 1024))

static bool read_text(const struct front_tls_file *file, struct arena *a, struct str *out,
                      struct err *err)
{
    struct buf text = {.ceiling_bytes = FILE_BYTES_MAX};
    int rc = file_read_all(arena_cstr(a, file->path), &text);
    if (rc == 0)
        *out = arena_dup(a, buf_view(&text));
    buf_done(&text);
    if (rc == -EFBIG) {
        return tree_error(err, file->pos,
                          "\"%.*s\" is larger than 1 MiB, a file in PEM was expected",
                          STR_ARG(file->path));
    }
    const char *why = rc == -EINVAL ? "it is no regular file" : strerrordesc_np(-rc);
    return rc == 0
           || tree_error(err, file->pos, "\"%.*s\" cannot be read: %s", STR_ARG(file->path), why);
}

static bool add_text(struct tree_node *tree, struct str name, struct str text, struct arena *a,
                     struct err *err)
{
    for (struct tree_node *node = tree; node; node = node->next) {
        if (!str_eq(node->name, name))
            continue;
        if (node->arg_count != 1)
            return tree_error(err, node->pos, "\"%.*s\" has too many arguments, one was expected",
                              STR_ARG(name));
        struct str *args = arena_array(a, struct str, 2);
        struct tree_pos *pos = arena_array(a, struct tree_pos, 2);
        args[0] = node->args[0];
        args[1] = text;
        pos[0] = pos[1] = node->arg_pos[0];
        node->args = args;
        node->arg_pos = pos;
        node->arg_count = 2;
    }
    return true;
}

// Tells whether the files are needed; *out_ok: whether they are named.
static bool are_needed(const struct snapshot *s, const struct front_tls_conf *conf, bool *out_ok,
                       struct err *err)
{
    size_t count;
    const struct listen_address *items = listen_addresses(s, &count);
    bool has_both = conf->certificate.path.len && conf->key.path.len;
    *out_ok = true;
    for (size_t i = 0; i < count && !has_both && *out_ok; i++) {
        if (items[i].tls) {
            *out_ok = tree_error(err, items[i].pos,
                                 "\"listen\" has tls here, the directives certificate and key were "
                                 "expected beside it");
        }
    }
    const struct front_tls_file *lonely =
        conf->certificate.path.len ? &conf->certificate : &conf->key;
    if (*out_ok && !has_both && lonely->path.len)
        *out_ok =
            tree_error(err, lonely->pos, "certificate and key belong together, both were expected");
    return has_both;
}

bool loader_tls_read(const struct snapshot *s, struct tree_node *tree, struct arena *a,
                     struct err *err)
{
    const struct front_tls_conf *conf = front_tls_conf(s);
    struct str certificate = {0};
    struct str key = {0};
    bool ok;
    if (!are_needed(s, conf, &ok, err))
        return ok;
    ok = read_text(&conf->certificate, a, &certificate, err);
    ok = read_text(&conf->key, a, &key, err) && ok;
    if (!ok)
        return false;
    enum tls_result result;
    struct tls_context *context = tls_context_new(certificate, key, &result);
    tls_context_free(context);
    if (!context) {
        const struct front_tls_file *file =
            result == TLS_BAD_CERTIFICATE ? &conf->certificate : &conf->key;
        return tree_error(err, file->pos, "\"%.*s\" %s", STR_ARG(file->path),
                          tls_result_text(result));
    }
    return add_text(tree, STR("certificate"), certificate, a, err)
           && add_text(tree, STR("key"), key, a, err);
}
