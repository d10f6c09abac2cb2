// SPDX-License-Identifier: Apache-2.0
// static_type -- see static_type.h.
#include "feature/static_type.h"

#include "http/mime.h"

// The type that the configuration names; {NULL, 0}: none.
static struct str configured(const struct static_conf *conf, struct str file_name)
{
    struct str name = str_skip(file_name, str_rfind(file_name, '/') + 1);
    size_t dot = str_rfind(name, '.');
    struct str extension = str_skip(name, dot + 1);
    for (size_t i = 0; dot < name.len && i < conf->mime.count; i++)
        if (str_eq_nocase(conf->mime.items[i].name, extension))
            return conf->mime.items[i].value;
    return (struct str){0};
}

struct str static_type_of(const struct static_conf *conf, struct str file_name, struct arena *a)
{
    struct str type = conf->mime.count ? configured(conf, file_name) : (struct str){0};
    bool is_usual = str_eq_nocase(conf->charset, STR("utf-8"));
    if (!type.ptr && is_usual)
        return mime_content_type(file_name);
    bool is_text;
    if (type.ptr) {
        is_text = str_starts_nocase(type, STR("text/")) && str_find(type, ';') == type.len;
    } else {
        struct str content_type = mime_content_type(file_name);
        type = mime_find(file_name);
        if (!type.ptr)
            return content_type;
        is_text = content_type.len > type.len;
    }
    if (!is_text || str_eq(conf->charset, STR("off")))
        return type;
    return arena_fmt(a, "%.*s; charset=%.*s", STR_ARG(type), STR_ARG(conf->charset));
}
