// SPDX-License-Identifier: Apache-2.0
// static_conf -- see static_conf.h.
#include "feature/static_conf.h"

#include <string.h>

#include "feature/static_variant.h"
#include "http/header.h"

static bool parse_codings(const struct key *key, const struct tree_node *node, struct arena *a,
                          void *field, struct err *err)
{
    bool is_off = node->arg_count == 1 && str_eq(node->args[0], STR("off"));
    for (size_t i = 0; i < node->arg_count && !is_off; i++) {
        if (!static_variant_suffix(node->args[i]).len) {
            return tree_error(err, node->arg_pos[i],
                              "\"precompressed\" names \"%.*s\", br, zstd, gzip, or off alone were "
                              "expected",
                              STR_ARG(node->args[i]));
        }
    }
    return KEY_WORDS.parse(key, node, a, field, err);
}

static void print_words(const struct key *key, const void *field, struct buf *out)
{
    KEY_WORDS.print(key, field, out);
}

// token "/" token, then perhaps parameters.
static bool is_media_type(struct str text)
{
    struct str rest = text;
    struct str type = str_cut(&rest, '/');
    struct str subtype = str_trim(str_cut(&rest, ';'));
    return header_is_token(type) && header_is_token(subtype) && header_value_ok(text);
}

static bool parse_mime(const struct key *key, const struct tree_node *node, struct arena *a,
                       void *field, struct err *err)
{
    struct key_pairs *pairs = field;
    if (node->arg_count == 2 && !is_media_type(node->args[1])) {
        return tree_error(err, node->arg_pos[1],
                          "\"mime\" has the type \"%.*s\", one such as text/plain was expected",
                          STR_ARG(node->args[1]));
    }
    if (node->arg_count == 2 && str_find(node->args[0], '/') < node->args[0].len) {
        return tree_error(err, node->arg_pos[0],
                          "\"mime\" is for \"%.*s\", the end of file names such as webp was "
                          "expected",
                          STR_ARG(node->args[0]));
    }
    if (!KEY_PAIRS.parse(key, node, a, field, err))
        return false;
    struct str *name = &pairs->items[pairs->count - 1].name;
    char *text = arena_alloc(a, name->len + 1);
    size_t dot = str_starts(*name, STR("."));
    for (size_t i = dot; i < name->len; i++) {
        char c = name->ptr[i];
        text[i - dot] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    *name = str_n(text, name->len - dot);
    return true;
}

static void print_pairs(const struct key *key, const void *field, struct buf *out)
{
    KEY_PAIRS.print(key, field, out);
}

static bool parse_charset(const struct key *key, const struct tree_node *node, struct arena *a,
                          void *field, struct err *err)
{
    if (node->arg_count == 1 && !header_is_token(node->args[0])) {
        return tree_error(err, node->arg_pos[0],
                          "\"charset\" is \"%.*s\", a name such as utf-8, or off were expected",
                          STR_ARG(node->args[0]));
    }
    return KEY_STR.parse(key, node, a, field, err);
}

static void print_str(const struct key *key, const void *field, struct buf *out)
{
    KEY_STR.print(key, field, out);
}

static const struct key_type CODINGS = {"codings", "CODING...|off", parse_codings, print_words};
static const struct key_type MIME = {"media type", "EXTENSION TYPE", parse_mime, print_pairs};
static const struct key_type CHARSET = {"charset", "NAME|off", parse_charset, print_str};

const struct key STATIC_CONF_KEYS[STATIC_CONF_KEY_COUNT] = {
    {
        .name = "file_cache",
        .type = &KEY_SIZE,
        .offset = offsetof(struct static_conf, cache_bytes_max),
        .scopes = KEY_TOP,
        .def = "8m",
        .min = 0,
        .max = (int64_t)1 << 40,
        .unit = "bytes",
        .help = "How much memory each thread may use to keep small files (up to 16 KiB each), so "
                "that they are sent without opening them. 0 keeps none.",
        .example = "32m",
    },
    {
        .name = "file_cache_open",
        .type = &KEY_INT,
        .offset = offsetof(struct static_conf, open_files_max),
        .scopes = KEY_TOP,
        .def = "128",
        .min = 0,
        .max = 100000,
        .unit = "files",
        .help = "How many larger files each thread may keep open, so that they are sent without "
                "opening them again. One that nobody asks for is closed after 5 seconds. 0 keeps "
                "none.",
        .example = "1000",
    },
    {
        .name = "precompressed",
        .type = &CODINGS,
        .offset = offsetof(struct static_conf, precompressed),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "off",
        .max = 3,
        .help = "Compressed files that are looked for beside each static file and sent in its "
                "place to clients that understand them, the best first: br (FILE.br), zstd "
                "(FILE.zst), gzip (FILE.gz). Whoever makes them sees to it that they are not "
                "older than the file.",
        .example = "br zstd gzip",
    },
    {
        .name = "mime",
        .type = &MIME,
        .offset = offsetof(struct static_conf, mime),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .help = "The media type of static files whose name ends in EXTENSION, in place of the "
                "built-in one.",
        .example = "md text/markdown",
        .repeats = true,
    },
    {
        .name = "charset",
        .type = &CHARSET,
        .offset = offsetof(struct static_conf, charset),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "utf-8",
        .help = "The charset that the Content-Type of static text files says. off says none.",
        .example = "iso-8859-1",
    },
};

bool static_conf_has_precompressed(const struct static_conf *conf)
{
    return conf->precompressed.count > 0 && !str_eq(conf->precompressed.items[0], STR("off"));
}
