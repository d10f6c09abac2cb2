// SPDX-License-Identifier: Apache-2.0
// php_ini -- see php_ini.h.
#include "app/php_ini.h"

#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

#define DEPTH_MAX  16 // of parentheses
#define DIGITS_MAX 9  // of a number: it fits into PHP's 32 bits

// The levels of errors, as they have been since PHP 5.4.
static const struct {
    struct str name;
    int32_t value;
} LEVELS[] = {
    {STR_INIT("E_ALL"), 32767},
    {STR_INIT("E_ERROR"), 1},
    {STR_INIT("E_WARNING"), 2},
    {STR_INIT("E_PARSE"), 4},
    {STR_INIT("E_NOTICE"), 8},
    {STR_INIT("E_CORE_ERROR"), 16},
    {STR_INIT("E_CORE_WARNING"), 32},
    {STR_INIT("E_COMPILE_ERROR"), 64},
    {STR_INIT("E_COMPILE_WARNING"), 128},
    {STR_INIT("E_USER_ERROR"), 256},
    {STR_INIT("E_USER_WARNING"), 512},
    {STR_INIT("E_USER_NOTICE"), 1024},
    {STR_INIT("E_STRICT"), 2048},
    {STR_INIT("E_RECOVERABLE_ERROR"), 4096},
    {STR_INIT("E_DEPRECATED"), 8192},
    {STR_INIT("E_USER_DEPRECATED"), 16384},
};

static const struct {
    struct str name;
    bool is_on;
} SWITCHES[] = {
    {STR_INIT("on"), true},    {STR_INIT("yes"), true},   {STR_INIT("true"), true},
    {STR_INIT("off"), false},  {STR_INIT("no"), false},   {STR_INIT("false"), false},
    {STR_INIT("none"), false}, {STR_INIT("null"), false},
};

struct scan {
    struct str text;
    size_t at;
    int depth;
    bool is_expression; // has what PHP evaluates, not a number alone
};

bool php_ini_is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool is_other = (c >= '0' && c <= '9') || c == '.' || c == '-';
        if (!is_letter && !(is_other && i > 0))
            return false;
    }
    return name.len > 0;
}

bool php_ini_is_value(struct str value)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] == '\n' || value.ptr[i] == '\r' || value.ptr[i] == '\0')
            return false;
    return true;
}

static char peek(struct scan *s)
{
    while (s->at < s->text.len && s->text.ptr[s->at] == ' ')
        s->at++;
    return s->at < s->text.len ? s->text.ptr[s->at] : '\0';
}

static bool is_word_byte(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool read_number(struct str word, int32_t *out)
{
    *out = 0;
    if (word.len > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] < '0' || word.ptr[i] > '9')
            return false;
        *out = *out * 10 + (word.ptr[i] - '0');
    }
    return word.len > 0;
}

static bool read_word(struct scan *s, int32_t *out)
{
    size_t from = s->at;
    while (s->at < s->text.len && is_word_byte(s->text.ptr[s->at]))
        s->at++;
    struct str word = str_slice(s->text, from, s->at);
    for (size_t i = 0; i < ARRAY_LEN(LEVELS); i++) {
        if (str_eq(word, LEVELS[i].name)) {
            s->is_expression = true;
            *out = LEVELS[i].value;
            return true;
        }
    }
    return read_number(word, out);
}

static bool read_expression(struct scan *s, int32_t *out);

static bool read_term(struct scan *s, int32_t *out)
{
    bool is_inverted = false;
    for (; peek(s) == '~'; s->at++)
        is_inverted = !is_inverted;
    if (is_inverted)
        s->is_expression = true;
    if (peek(s) == '(') {
        s->at++;
        s->is_expression = true;
        if (++s->depth > DEPTH_MAX || !read_expression(s, out) || peek(s) != ')')
            return false;
        s->depth--;
        s->at++;
    } else if (!read_word(s, out)) {
        return false;
    }
    if (is_inverted)
        *out = ~*out;
    return true;
}

// In ini files no operator binds stronger than another: from left to right.
static bool read_expression(struct scan *s, int32_t *out)
{
    if (!read_term(s, out))
        return false;
    for (;;) {
        int32_t right;
        char sign = peek(s);
        if (sign != '&' && sign != '|' && sign != '^')
            return true;
        s->at++;
        s->is_expression = true;
        if (!read_term(s, &right))
            return false;
        if (sign == '&')
            *out &= right;
        else if (sign == '|')
            *out |= right;
        else
            *out ^= right;
    }
}

static bool evaluate(struct str value, int32_t *out)
{
    struct scan s = {.text = value};
    return read_expression(&s, out) && peek(&s) == '\0' && s.at == value.len && s.is_expression;
}

// The place in SWITCHES, or their count.
static size_t find_switch(struct str value)
{
    size_t i = 0;
    while (i < ARRAY_LEN(SWITCHES) && !str_eq_nocase(value, SWITCHES[i].name))
        i++;
    return i;
}

// Between single quotes every byte stands for itself, but the single quote; strings side by side
// are joined.
static void put_quoted(struct str value, struct buf *out)
{
    while (value.len) {
        bool is_quote = value.ptr[0] == '\'';
        size_t len = 0;
        while (len < value.len && (value.ptr[len] == '\'') == is_quote)
            len++;
        const char *mark = is_quote ? "\"" : "'";
        buf_fmt(out, "%s%.*s%s", mark, (int)len, value.ptr, mark);
        value = str_slice(value, len, value.len);
    }
}

const char *php_ini_text(struct str value, struct arena *a)
{
    int32_t number;
    if (find_switch(value) < ARRAY_LEN(SWITCHES))
        return arena_dup(a, value).ptr;
    // php-cgi quotes what begins with a sign.
    if (evaluate(value, &number))
        return arena_fmt(a, "%s%.*s", is_word_byte(value.ptr[0]) ? "" : "0|", STR_ARG(value)).ptr;
    if (!value.len)
        return "\"\"";
    struct buf text = {0};
    put_quoted(value, &text);
    const char *copy = arena_dup(a, buf_view(&text)).ptr;
    buf_done(&text);
    return copy;
}

struct str php_ini_value(struct str value, struct arena *a)
{
    int32_t number;
    size_t place = find_switch(value);
    if (place < ARRAY_LEN(SWITCHES))
        return SWITCHES[place].is_on ? STR("1") : STR("0");
    if (evaluate(value, &number))
        return arena_fmt(a, "%d", number);
    return value;
}
