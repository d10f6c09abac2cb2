// SPDX-License-Identifier: Apache-2.0
// key_number -- the stock types made of digits: int, size, time, range.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "conf/key.h"

#define TEXT_BYTES 48

// A word behind a number and what it multiplies by, greatest last.
struct suffix {
    const char *word;
    int64_t factor;
};

static const struct suffix SIZES[] = {{"", 1}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {0}};
static const struct suffix TIMES[] = {{"ms", 1},      {"", 1000},      {"s", 1000}, {"m", 60000},
                                      {"h", 3600000}, {"d", 86400000}, {0}};
static const struct suffix PLAIN[] = {{"", 1}, {0}};

enum number_result { NUMBER_OK, NUMBER_MALFORMED, NUMBER_TOO_BIG };

static enum number_result read_number(struct str text, const struct suffix *suffixes, int64_t *out)
{
    size_t digits = 0;
    while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9')
        digits++;
    if (!digits)
        return NUMBER_MALFORMED;
    struct str word = str_skip(text, digits);
    while (suffixes->word && !str_eq_nocase(str_c(suffixes->word), word))
        suffixes++;
    if (!suffixes->word)
        return NUMBER_MALFORMED;
    uint64_t value;
    if (!str_to_u64(str_slice(text, 0, digits), &value)
        || value > (uint64_t)(INT64_MAX / suffixes->factor))
        return NUMBER_TOO_BIG;
    *out = (int64_t)value * suffixes->factor;
    return NUMBER_OK;
}

// Writes `value` with the greatest suffix that divides it.
static void write_number(int64_t value, const struct suffix *suffixes, char text[static TEXT_BYTES])
{
    if (value == 0) { // in any unit
        (void)snprintf(text, TEXT_BYTES, "0");
        return;
    }
    const struct suffix *best = suffixes;
    for (const struct suffix *at = suffixes; at->word; at++) {
        if (value % at->factor == 0 && at->factor >= best->factor)
            best = at;
    }
    (void)snprintf(text, TEXT_BYTES, "%" PRId64 "%s", value / best->factor, best->word);
}

static bool has_bounds(const struct key *key)
{
    return key->min || key->max;
}

static bool report(const struct key *key, const struct tree_node *node,
                   const struct suffix *suffixes, const char *form, struct err *err)
{
    char min[TEXT_BYTES];
    char max[TEXT_BYTES];
    char bounds[2 * TEXT_BYTES + 32] = "";
    write_number(key->min, suffixes, min);
    write_number(key->max, suffixes, max);
    bool shows_unit = suffixes == PLAIN && key->unit;
    const char *unit = shows_unit ? key->unit : "";
    const char *gap = shows_unit ? " " : "";
    if (has_bounds(key) && key->max == INT64_MAX) {
        (void)snprintf(bounds, sizeof bounds, ", at least %s%s%s", min, gap, unit);
    } else if (has_bounds(key)) {
        (void)snprintf(bounds, sizeof bounds, ", %s to %s%s%s", min, max, gap, unit);
    }
    struct buf value = {0};
    tree_quote(node->args[0], &value);
    tree_error(err, node->arg_pos[0], "\"%s\" is %.*s, %s was expected%s", key->name,
               STR_ARG(buf_view(&value)), form, bounds);
    buf_done(&value);
    return false;
}

static bool is_within(const struct key *key, int64_t value)
{
    return !has_bounds(key) || (value >= key->min && value <= key->max);
}

static bool parse_number(const struct key *key, const struct tree_node *node,
                         const struct suffix *suffixes, const char *form, int64_t *field,
                         struct err *err)
{
    int64_t value;
    if (!key_args_check(key, node, 1, 1, err))
        return false;
    if (read_number(node->args[0], suffixes, &value) != NUMBER_OK || !is_within(key, value))
        return report(key, node, suffixes, form, err);
    *field = value;
    return true;
}

static void print_number(const void *field, const struct suffix *suffixes, struct buf *out)
{
    char text[TEXT_BYTES];
    write_number(*(const int64_t *)field, suffixes, text);
    buf_fmt(out, "%s", text);
}

static bool int_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                      void *field, struct err *err)
{
    (void)a;
    return parse_number(key, node, PLAIN, "a number", field, err);
}

static void int_print(const struct key *key, const void *field, struct buf *out)
{
    (void)key;
    print_number(field, PLAIN, out);
}

static bool size_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                       void *field, struct err *err)
{
    (void)a;
    return parse_number(key, node, SIZES, "a size such as 512, 64k, 256m or 2g", field, err);
}

static void size_print(const struct key *key, const void *field, struct buf *out)
{
    (void)key;
    print_number(field, SIZES, out);
}

static bool time_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                       void *field, struct err *err)
{
    (void)a;
    return parse_number(key, node, TIMES, "a time such as 500ms, 30s, 10m, 2h or 7d", field, err);
}

static void time_print(const struct key *key, const void *field, struct buf *out)
{
    (void)key;
    print_number(field, TIMES, out);
}

static bool read_range(struct str text, struct key_range *out)
{
    size_t dot = str_find(text, '.');
    if (read_number(str_slice(text, 0, dot), PLAIN, &out->min) != NUMBER_OK)
        return false;
    out->max = out->min;
    if (dot == text.len)
        return true;
    struct str rest = str_skip(text, dot);
    return str_starts(rest, STR(".."))
           && read_number(str_skip(rest, 2), PLAIN, &out->max) == NUMBER_OK && out->min <= out->max;
}

static bool range_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                        void *field, struct err *err)
{
    (void)a;
    struct key_range range;
    if (!key_args_check(key, node, 1, 1, err))
        return false;
    if (!read_range(node->args[0], &range) || !is_within(key, range.min)
        || !is_within(key, range.max))
        return report(key, node, PLAIN, "MIN..MAX or one number", err);
    memcpy(field, &range, sizeof range);
    return true;
}

static void range_print(const struct key *key, const void *field, struct buf *out)
{
    (void)key;
    const struct key_range *range = field;
    if (range->min == range->max) {
        buf_fmt(out, "%" PRId64, range->min);
    } else {
        buf_fmt(out, "%" PRId64 "..%" PRId64, range->min, range->max);
    }
}

const struct key_type KEY_INT = {"number", NULL, int_parse, int_print};
const struct key_type KEY_SIZE = {"size", NULL, size_parse, size_print};
const struct key_type KEY_TIME = {"time", NULL, time_parse, time_print};
const struct key_type KEY_RANGE = {"range", "MIN..MAX", range_parse, range_print};
