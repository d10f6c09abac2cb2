// SPDX-License-Identifier: Apache-2.0
// lex -- see lex.h. White space is SP, HTAB, CR and LF. # begins a comment only where a token may
// begin.
#include "conf/lex.h"

#include "base/compiler.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && !is_space(c)) || c == 0x7f;
}

static bool is_punctuation(char c)
{
    return c == ';' || c == '{' || c == '}';
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

static char peek(const struct lex *l)
{
    return l->left.len ? l->left.ptr[0] : '\n'; // the text's end ends a word and a line
}

static void advance(struct lex *l)
{
    if (l->left.ptr[0] == '\n') {
        l->pos.line++;
        l->pos.column = 1;
    } else {
        l->pos.column++;
    }
    l->left = str_skip(l->left, 1);
}

static void skip_blank(struct lex *l)
{
    while (l->left.len) {
        if (peek(l) == '#') {
            while (peek(l) != '\n')
                advance(l);
        } else if (is_space(peek(l))) {
            advance(l);
        } else {
            break;
        }
    }
}

// The length of a placeholder such as {host}, which belongs to its word; 0 when none stands here. A
// block has white space or ";" in it.
static size_t placeholder(const struct lex *l)
{
    size_t at = 1;
    while (at < l->left.len
           && ((l->left.ptr[at] >= 'a' && l->left.ptr[at] <= 'z') || l->left.ptr[at] == '_'))
        at++;
    bool is_one = peek(l) == '{' && at > 1 && at < l->left.len && l->left.ptr[at] == '}';
    return is_one ? at + 1 : 0;
}

static bool skip_placeholder(struct lex *l)
{
    size_t bytes = placeholder(l);
    for (size_t i = 0; i < bytes; i++)
        advance(l);
    return bytes > 0;
}

static bool is_word_end(const struct lex *l)
{
    return !l->left.len || is_space(peek(l)) || (is_punctuation(peek(l)) && !placeholder(l));
}

// A quoted string or a bad word is left behind as a whole, so that one slip gives one message.
static void skip_word(struct lex *l)
{
    while (!is_word_end(l)) {
        if (!skip_placeholder(l))
            advance(l);
    }
}

static void report_control(struct lex *l)
{
    tree_error(l->err, l->pos, "byte 0x%02x can't stand in a configuration, text was expected",
               (unsigned char)peek(l));
}

static struct lex_token word(struct lex *l)
{
    struct lex_token token = {.kind = LEX_WORD, .pos = l->pos};
    const char *start = l->left.ptr;
    while (!is_word_end(l)) {
        if (skip_placeholder(l))
            continue;
        if (is_quote(peek(l)) || is_control(peek(l))) {
            if (is_control(peek(l))) {
                report_control(l);
            } else {
                tree_error(l->err, l->pos,
                           "quote %c inside a word, white space or \";\" was expected "
                           "(put the whole word in quotes)",
                           peek(l));
            }
            skip_word(l);
            token.kind = LEX_BAD;
            return token;
        }
        advance(l);
    }
    token.text = arena_dup(l->arena, str_n(start, (size_t)(l->left.ptr - start)));
    return token;
}

// Reads what stands behind a backslash in double quotes.
static bool escape(struct lex *l, char *out)
{
    switch (peek(l)) {
    case 'n':
        *out = '\n';
        break;
    case 't':
        *out = '\t';
        break;
    case '\\':
    case '"':
    case '\'':
        *out = peek(l);
        break;
    default:
        return tree_error(l->err, l->pos,
                          "unknown escape, \\\\ \\\" \\' \\n or \\t was expected "
                          "(single quotes keep backslashes as they are)");
    }
    advance(l);
    return true;
}

// Reads up to the closing quote into `room` of string_bytes. False: reported.
static bool string_body(struct lex *l, char quote, struct tree_pos start, char *room,
                        size_t *out_len)
{
    bool ok = true;
    size_t len = 0;
    while (peek(l) != quote) {
        if (peek(l) == '\n') {
            return tree_error(l->err, start,
                              "string is not closed, %c was expected before the end of the line",
                              quote);
        }
        if (is_control(peek(l))) {
            report_control(l);
            ok = false;
        }
        char byte = peek(l);
        advance(l);
        if (quote == '"' && byte == '\\' && peek(l) != '\n')
            ok = escape(l, &byte) && ok;
        room[len++] = byte;
    }
    advance(l);
    *out_len = len;
    return ok;
}

// The bytes up to the closing quote or the end of the line: escapes only shorten them.
static size_t string_bytes(const struct lex *l, char quote)
{
    size_t len = 0;
    while (len < l->left.len && l->left.ptr[len] != quote && l->left.ptr[len] != '\n')
        len += quote == '"' && l->left.ptr[len] == '\\' ? 2 : 1;
    return len;
}

static struct lex_token string(struct lex *l)
{
    struct lex_token token = {.kind = LEX_STRING, .pos = l->pos};
    char quote = peek(l);
    advance(l);
    char *room = arena_alloc(l->arena, string_bytes(l, quote) + 1);
    size_t len = 0;
    if (!string_body(l, quote, token.pos, room, &len)) {
        token.kind = LEX_BAD;
        return token;
    }
    token.text = str_n(room, len);
    if (!is_space(peek(l)) && !is_punctuation(peek(l))) {
        tree_error(l->err, l->pos, "text right behind a string, white space or \";\" was expected");
        skip_word(l);
        token.kind = LEX_BAD;
    }
    return token;
}

void lex_init(struct lex *l, struct arena *a, const char *file, struct str text, struct err *err)
{
    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = str_skip(text, 3);
    *l = (struct lex){.left = text, .pos = {file, 1, 1}, .arena = a, .err = err};
}

struct lex_token lex_next(struct lex *l)
{
    skip_blank(l);
    struct lex_token token = {.pos = l->pos};
    if (!l->left.len) {
        token.kind = LEX_END;
        return token;
    }
    if (is_quote(peek(l)))
        return string(l);
    if (!is_word_end(l))
        return word(l);
    token.kind = peek(l) == ';' ? LEX_END_OF_DIRECTIVE : peek(l) == '{' ? LEX_OPEN : LEX_CLOSE;
    advance(l);
    return token;
}
