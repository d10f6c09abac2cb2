// SPDX-License-Identifier: Apache-2.0
// report -- see report.h. Three levels are enough: fields, lists of rows, and lists within a row.
#include "main/report.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define INDENT         2
#define COLUMNS_MAX    24
#define CELL_BYTES_MAX 512

static bool is_object_list(const json_t *value)
{
    return json_is_array(value) && json_is_object(json_array_get(value, 0));
}

// A value that fits on one line.
static bool is_plain(const json_t *value)
{
    return !json_is_object(value) && !is_object_list(value);
}

static void put_safe(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (byte < 0x20 || byte == 0x7f)
            buf_fmt(out, "\\x%02x", byte);
        else
            (void)!buf_put(out, str_n(&text.ptr[i], 1));
    }
}

static void put_scalar(struct buf *out, const json_t *value)
{
    if (json_is_string(value))
        put_safe(out, str_n(json_string_value(value), json_string_length(value)));
    else if (json_is_integer(value))
        buf_fmt(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        buf_fmt(out, "%.3g", json_real_value(value));
    else if (json_is_boolean(value))
        (void)!buf_put(out, json_is_true(value) ? STR("yes") : STR("no"));
    else
        (void)!buf_put(out, STR("-"));
}

// One line of text for a plain value.
static void put_plain(struct buf *out, const json_t *value)
{
    if (!json_is_array(value)) {
        put_scalar(out, value);
        return;
    }
    if (json_array_size(value) == 0)
        (void)!buf_put(out, STR("-"));
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (i > 0)
            (void)!buf_put(out, STR(", "));
        put_scalar(out, json_array_get(value, i));
    }
}

static void put_key(struct buf *out, const char *key)
{
    for (; *key; key++)
        (void)!buf_put(out, *key == '_' ? STR(" ") : str_n(key, 1));
}

// Columns on a terminal: bytes that begin a character.
static size_t width_of(struct str text)
{
    size_t width = 0;
    for (size_t i = 0; i < text.len; i++)
        width += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return width;
}

static void print_padded(struct str text, size_t width)
{
    if (text.len) // nothing has no address
        (void)fwrite(text.ptr, 1, text.len, stdout);
    for (size_t i = width_of(text); i < width; i++)
        putchar(' ');
}

static size_t key_width(const json_t *object)
{
    size_t widest = 0;
    void *at = NULL;
    // The library's iterator is not const, and changes nothing.
    json_t *walked = (json_t *)(uintptr_t)object;
    for (at = json_object_iter(walked); at; at = json_object_iter_next(walked, at)) {
        size_t width = strlen(json_object_iter_key(at));
        if (is_plain(json_object_iter_value(at)) && width > widest)
            widest = width;
    }
    return widest;
}

static void print_indent(size_t columns)
{
    printf("%*s", (int)columns, "");
}

// Prints a plain value; of a list each element on a line of its own, below each other.
static void print_value(const json_t *value, size_t column)
{
    size_t count = json_array_size(value);
    for (size_t i = 0; i == 0 || i < count; i++) {
        struct buf text = {0};
        if (i > 0)
            print_indent(column);
        put_plain(&text, count > 0 ? json_array_get(value, i) : value);
        print_padded(buf_view(&text), 0);
        putchar('\n');
        buf_done(&text);
    }
}

// Prints the plain members, one a line.
static void print_fields(const json_t *object, size_t indent)
{
    size_t width = key_width(object) + INDENT;
    json_t *walked = (json_t *)(uintptr_t)object;
    for (void *at = json_object_iter(walked); at; at = json_object_iter_next(walked, at)) {
        struct buf key = {0};
        if (!is_plain(json_object_iter_value(at)))
            continue;
        put_key(&key, json_object_iter_key(at));
        print_indent(indent);
        print_padded(buf_view(&key), width);
        print_value(json_object_iter_value(at), indent + width);
        buf_done(&key);
    }
}

static void print_title(const char *key, size_t indent)
{
    struct buf text = {0};
    put_key(&text, key);
    print_indent(indent);
    print_padded(buf_view(&text), 0);
    putchar('\n');
    buf_done(&text);
}

// Prints the members that are objects themselves.
static void print_groups(const json_t *object, size_t indent)
{
    json_t *walked = (json_t *)(uintptr_t)object;
    for (void *at = json_object_iter(walked); at; at = json_object_iter_next(walked, at)) {
        const json_t *value = json_object_iter_value(at);
        if (!json_is_object(value) || json_object_size(value) == 0)
            continue;
        print_title(json_object_iter_key(at), indent);
        print_fields(value, indent + INDENT);
    }
}

struct column {
    const char *key;
    size_t width;
};

static void put_cell(struct buf *out, const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    if (value && is_plain(value))
        put_plain(out, value);
}

// Finds the columns: the plain members of the first row, as wide as the widest cell.
static size_t find_columns(const json_t *rows, struct column columns[static COLUMNS_MAX])
{
    size_t count = 0;
    json_t *first = json_array_get(rows, 0);
    for (void *at = json_object_iter(first); at && count < COLUMNS_MAX;
         at = json_object_iter_next(first, at))
        if (is_plain(json_object_iter_value(at)))
            columns[count++].key = json_object_iter_key(at);
    for (size_t c = 0; c < count; c++) {
        columns[c].width = strlen(columns[c].key);
        for (size_t i = 0; i < json_array_size(rows); i++) {
            struct buf cell = {0};
            put_cell(&cell, json_array_get(rows, i), columns[c].key);
            size_t width = width_of(buf_view(&cell));
            if (width > columns[c].width)
                columns[c].width = width;
            buf_done(&cell);
        }
    }
    return count;
}

static void print_table(const json_t *rows, size_t indent)
{
    struct column columns[COLUMNS_MAX];
    size_t count = find_columns(rows, columns);
    // Row -1 is the heading.
    for (size_t i = 0; i <= json_array_size(rows); i++) {
        print_indent(indent);
        for (size_t c = 0; c < count; c++) {
            struct buf cell = {0};
            if (i == 0)
                put_key(&cell, columns[c].key);
            else
                put_cell(&cell, json_array_get(rows, i - 1), columns[c].key);
            print_padded(buf_view(&cell), c + 1 < count ? columns[c].width + INDENT : 0);
            buf_done(&cell);
        }
        putchar('\n');
    }
}

// Tells whether a row has lists or groups of its own.
static bool is_deep(const json_t *rows)
{
    json_t *first = json_array_get(rows, 0);
    for (void *at = json_object_iter(first); at; at = json_object_iter_next(first, at))
        if (!is_plain(json_object_iter_value(at)))
            return true;
    return false;
}

static void print_block(const json_t *row, size_t indent)
{
    json_t *walked = (json_t *)(uintptr_t)row;
    print_fields(row, indent);
    print_groups(row, indent);
    for (void *at = json_object_iter(walked); at; at = json_object_iter_next(walked, at)) {
        if (!is_object_list(json_object_iter_value(at)))
            continue;
        print_title(json_object_iter_key(at), indent);
        print_table(json_object_iter_value(at), indent + INDENT);
    }
}

void report_print(const json_t *root)
{
    json_t *walked = (json_t *)(uintptr_t)root;
    print_fields(root, 0);
    print_groups(root, 0);
    for (void *at = json_object_iter(walked); at; at = json_object_iter_next(walked, at)) {
        const json_t *rows = json_object_iter_value(at);
        if (!is_object_list(rows))
            continue;
        print_title(json_object_iter_key(at), 0);
        if (!is_deep(rows)) {
            print_table(rows, INDENT);
            continue;
        }
        for (size_t i = 0; i < json_array_size(rows); i++) {
            if (i > 0)
                putchar('\n');
            print_block(json_array_get(rows, i), INDENT);
        }
    }
}
