// SPDX-License-Identifier: Apache-2.0
// settings -- php.ini entries of the start, and php_value and php_admin_value for one request. See
// php_runtime.h.
#include <php.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zend_ini.h>
#include <zend_ini_scanner.h>

#include "php_runtime.h"

// An entry of the start, while PHP's parser reads it.
struct entry {
    size_t count; // of what it turned out to be
    bool is_final;
};

static zend_ini_entry **locked;
static size_t locked_count;

static void lock(zend_string *name)
{
    zend_ini_entry *found = zend_hash_find_ptr(EG(ini_directives), name);
    if (!found) // such as `extension`, which is heeded at the start only
        return;
    locked = realloc(locked, (locked_count + 1) * sizeof *locked);
    if (!locked)
        abort();
    locked[locked_count++] = found;
    found->modifiable = ZEND_INI_SYSTEM;
}

static bool is_locked(const zend_string *name)
{
    for (size_t i = 0; i < locked_count; i++)
        if (zend_string_equals(locked[i]->name, name))
            return true;
    return false;
}

static void on_entry(zval *name, zval *value, zval *index, int type, void *arg)
{
    struct entry *entry = arg;
    (void)value;
    (void)index;
    entry->count++;
    if (type == ZEND_INI_PARSER_ENTRY && entry->is_final)
        lock(Z_STR_P(name));
}

// PHP goes on without what follows an entry that it does not understand, so each is read again.
static bool look_at(const char *entries, bool is_final)
{
    while (entries && *entries) {
        size_t len = strcspn(entries, "\n");
        char *line = strndup(entries, len + 1);
        struct entry entry = {.is_final = is_final};
        if (!line)
            abort();
        // PHP only reads the text; its type is older than const in some versions.
        bool is_fine =
            zend_parse_ini_string(line, true, ZEND_INI_SCANNER_NORMAL, on_entry, &entry) == SUCCESS
            && entry.count == 1;
        free(line);
        if (!is_fine) {
            fprintf(stderr, "godwit-php: PHP does not understand the setting %.*s\n", (int)len,
                    entries);
            return false;
        }
        entries += len + 1;
    }
    return true;
}

char *settings_join(const struct engine_options *options)
{
    const char *first = options->ini_entries ? options->ini_entries : "";
    const char *second = options->final_entries ? options->final_entries : "";
    size_t size = strlen(first) + strlen(second) + 1;
    char *text = size > 1 ? malloc(size) : NULL;
    if (size > 1 && !text)
        abort();
    if (text)
        snprintf(text, size, "%s%s", first, second);
    return text;
}

bool settings_start(const struct engine_options *options)
{
    return look_at(options->ini_entries, false) && look_at(options->final_entries, true);
}

static bool is_engine(const struct godwit_app_setting *setting)
{
    return setting->name.len == 6 && memcmp(setting->name.ptr, "engine", 6) == 0;
}

bool settings_allow(const struct godwit_app_request *req)
{
    struct godwit_app_setting setting;
    bool on = true;
    for (size_t at = 0; godwit_app_setting_next(req, &at, &setting);)
        if (is_engine(&setting))
            on = !(setting.value.len == 1 && setting.value.ptr[0] == '0');
    return on;
}

void settings_apply(const struct godwit_app_request *req)
{
    struct godwit_app_setting setting;
    for (size_t at = 0; godwit_app_setting_next(req, &at, &setting);) {
        if (is_engine(&setting))
            continue;
        zend_string *name = zend_string_init(setting.name.ptr, setting.name.len, false);
        if (!is_locked(name)) {
            zend_alter_ini_entry_chars(name, setting.value.ptr, setting.value.len,
                                       setting.is_final ? ZEND_INI_SYSTEM : ZEND_INI_PERDIR,
                                       ZEND_INI_STAGE_ACTIVATE);
        }
        zend_string_release(name);
    }
}
