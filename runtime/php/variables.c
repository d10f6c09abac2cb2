// SPDX-License-Identifier: Apache-2.0
// variables -- $_SERVER, getenv() and single headers, from the request. See php_runtime.h.
#include <php.h>
#include <php_variables.h>
#include <string.h>

#include "php_runtime.h"

#define HTTP_PREFIX    "HTTP_"
#define NAME_MAX_BYTES 256 // longer header names are left out

// Writes "HTTP_NAME" for "Name"; the length, 0 when it is too long.
static size_t make_cgi_name(struct godwit_app_text name, char room[static NAME_MAX_BYTES])
{
    size_t at = sizeof HTTP_PREFIX - 1;
    if (name.len >= NAME_MAX_BYTES - sizeof HTTP_PREFIX)
        return 0;
    memcpy(room, HTTP_PREFIX, at);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (c == '-')
            c = '_';
        else if (c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        room[at++] = c;
    }
    room[at] = 0;
    return at;
}

static void add(const char *name, struct godwit_app_text value, zval *array)
{
    size_t len = value.len;
    char *text = (char *)(uintptr_t)value.ptr; // an input filter replaces it, nobody writes
    if (!sapi_module.input_filter) {
        php_register_variable_safe(name, text, len, array);
        return;
    }
    char *copy = estrndup(text, len);
    if (sapi_module.input_filter(PARSE_SERVER, name, &copy, len, &len))
        php_register_variable_safe(name, copy, len, array);
    efree(copy);
}

static void add_headers(const struct godwit_app_request *req, zval *array)
{
    struct godwit_app_header header;
    char room[NAME_MAX_BYTES];
    for (size_t at = 0; godwit_app_header_next(req, &at, &header);) {
        if (header.cgi_name.len)
            add(header.cgi_name.ptr, header.value, array);
        else if (make_cgi_name(header.name, room) && strcmp(room, "HTTP_PROXY") != 0)
            add(room, header.value, array); // a client must not choose the proxy of outgoing calls
    }
}

// The path under which the script was called: its own and what follows it.
static void add_self(struct godwit_app_text script, struct godwit_app_text info, zval *array)
{
    size_t len = script.len + info.len;
    char *self = emalloc(len + 1);
    memcpy(self, script.ptr, script.len);
    if (info.len)
        memcpy(self + script.len, info.ptr, info.len);
    self[len] = 0;
    add("PHP_SELF", (struct godwit_app_text){self, len}, array);
    efree(self);
}

void variables_register(zval *array)
{
    struct godwit_app_request *req = engine_request();
    struct godwit_app_pair pair;
    struct godwit_app_text info = {"", 0};
    if (!req)
        return;
    // The app's own environment is what its configuration sets with "env".
    php_import_environment_variables(array);
    add_headers(req, array);
    for (size_t at = 0; godwit_app_env_next(req, &at, &pair);) {
        add(pair.name.ptr, pair.value, array);
        if (pair.name.len == 9 && memcmp(pair.name.ptr, "PATH_INFO", 9) == 0)
            info = pair.value;
    }
    add_self(godwit_app_script_name(req), info, array);
}

static char *find_header(const struct godwit_app_request *req, const char *name, size_t len)
{
    struct godwit_app_header header;
    char room[NAME_MAX_BYTES];
    for (size_t at = 0; godwit_app_header_next(req, &at, &header);) {
        const char *cgi = header.cgi_name.ptr;
        size_t cgi_len = header.cgi_name.len;
        if (!cgi_len) {
            cgi = room;
            cgi_len = make_cgi_name(header.name, room);
        }
        if (cgi_len == len && memcmp(cgi, name, len) == 0)
            return estrndup(header.value.ptr, header.value.len);
    }
    return NULL;
}

char *variables_find(const char *name, size_t len)
{
    const struct godwit_app_request *req = engine_request();
    struct godwit_app_pair pair;
    for (size_t at = 0; godwit_app_env_next(req, &at, &pair);)
        if (pair.name.len == len && memcmp(pair.name.ptr, name, len) == 0)
            return (char *)(uintptr_t)pair.value.ptr; // NUL-terminated; PHP copies it
    if ((len > 5 && memcmp(name, HTTP_PREFIX, 5) == 0)
        || (len > 8 && memcmp(name, "CONTENT_", 8) == 0))
        return find_header(req, name, len);
    return NULL;
}

char *variables_header_string(const char *name)
{
    struct godwit_app_text value;
    if (!godwit_app_header(engine_request(), name, &value))
        return NULL;
    return estrndup(value.ptr, value.len);
}
