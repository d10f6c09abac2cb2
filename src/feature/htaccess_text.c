// SPDX-License-Identifier: Apache-2.0
// htaccess_text -- which lines of an .htaccess file protect something. What is not known to be
// harmless counts as protective.
#include "base/compiler.h"
#include "feature/htaccess.h"

// Directives that say how something is sent, not who may have it.
static const struct str HARMLESS[] = {
    STR_INIT("ExpiresActive"), STR_INIT("ExpiresByType"),   STR_INIT("ExpiresDefault"),
    STR_INIT("AddType"),       STR_INIT("AddCharset"),      STR_INIT("AddDefaultCharset"),
    STR_INIT("AddEncoding"),   STR_INIT("DirectoryIndex"),  STR_INIT("ErrorDocument"),
    STR_INIT("FileETag"),      STR_INIT("SetOutputFilter"), STR_INIT("AddOutputFilterByType"),
    STR_INIT("BrowserMatch"),
};

// Sections around which nothing changes.
static const struct str TRANSPARENT[] = {
    STR_INIT("<IfModule"),
    STR_INIT("<IfDefine"),
    STR_INIT("<IfVersion"),
};

// Response headers that concern caches only.
static const struct str CACHE_HEADERS[] = {
    STR_INIT("Cache-Control"), STR_INIT("Expires"), STR_INIT("Pragma"),        STR_INIT("Vary"),
    STR_INIT("ETag"),          STR_INIT("Age"),     STR_INIT("Last-Modified"),
};

// A type or encoding given to one of these may take it away from what runs it...
static const struct str CODE_NAMES[] = {
    STR_INIT("php"), STR_INIT("phtml"), STR_INIT("phar"), STR_INIT("cgi"),
    STR_INIT(".pl"), STR_INIT(".py"),   STR_INIT(".rb"),  STR_INIT("asp"),
};

// ... and these types make browsers show what they would otherwise run.
static const struct str DISARMING[] = {
    STR_INIT("text/plain"),
    STR_INIT("application/octet-stream"),
};

static bool is_one_of(struct str word, const struct str *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq_nocase(word, list[i]))
            return true;
    return false;
}

static bool contains_nocase(struct str s, struct str part)
{
    for (size_t i = 0; i + part.len <= s.len; i++)
        if (str_starts_nocase(str_skip(s, i), part))
            return true;
    return false;
}

static struct str next_word(struct str *rest)
{
    *rest = str_trim(*rest);
    size_t end = 0;
    while (end < rest->len && rest->ptr[end] != ' ' && rest->ptr[end] != '\t')
        end++;
    struct str word = str_slice(*rest, 0, end);
    *rest = str_trim(str_skip(*rest, end));
    return word;
}

static bool is_cache_header(struct str rest)
{
    struct str word = next_word(&rest);
    if (str_eq_nocase(word, STR("always")) || str_eq_nocase(word, STR("onsuccess")))
        word = next_word(&rest);
    static const struct str ACTIONS[] = {
        STR_INIT("set"), STR_INIT("append"), STR_INIT("merge"), STR_INIT("add"), STR_INIT("unset"),
    };
    return is_one_of(word, ACTIONS, ARRAY_LEN(ACTIONS))
           && is_one_of(next_word(&rest), CACHE_HEADERS, ARRAY_LEN(CACHE_HEADERS));
}

static bool contains_one_of(struct str s, const struct str *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (contains_nocase(s, list[i]))
            return true;
    return false;
}

static bool is_harmless(struct str line)
{
    struct str rest = line;
    struct str word = next_word(&rest);
    if (word.len == 0 || word.ptr[0] == '#')
        return true;
    if (str_starts(word, STR("</")))
        return true; // what it closes was judged where it began
    if (word.ptr[0] == '<')
        return is_one_of(word, TRANSPARENT, ARRAY_LEN(TRANSPARENT));
    if (str_eq_nocase(word, STR("Header")))
        return is_cache_header(rest);
    if (!is_one_of(word, HARMLESS, ARRAY_LEN(HARMLESS)))
        return false;
    bool maps_names = str_eq_nocase(word, STR("AddType")) || str_eq_nocase(word, STR("AddEncoding"))
                      || str_eq_nocase(word, STR("AddCharset"))
                      || str_eq_nocase(word, STR("SetOutputFilter"));
    return !maps_names
           || (!contains_one_of(rest, CODE_NAMES, ARRAY_LEN(CODE_NAMES))
               && !contains_one_of(rest, DISARMING, ARRAY_LEN(DISARMING)));
}

// Takes the next line off, with the lines that a backslash at its end joins to it. *line_count is
// how many lines of the file these are.
static struct str next_line(struct str *rest, unsigned *line_count)
{
    const char *begin = rest->ptr;
    size_t len = 0;
    *line_count = 0;
    while (rest->len > 0) {
        size_t end = str_find(*rest, '\n');
        struct str part = str_slice(*rest, 0, end);
        *rest = str_skip(*rest, end + 1);
        ++*line_count;
        len = (size_t)(part.ptr + part.len - begin);
        if (str_ends(part, STR("\r")))
            part.len--;
        if (!str_ends(part, STR("\\")))
            break;
    }
    return str_n(begin, len);
}

bool htaccess_find_protective(struct str text, unsigned *out_line, struct str *out_what)
{
    unsigned line = 1;
    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = str_skip(text, 3);
    while (text.len > 0) {
        unsigned line_count;
        struct str whole = next_line(&text, &line_count);
        if (str_ends(whole, STR("\r")))
            whole.len--;
        // A joined line is as harmful as its first word: arguments may be anything.
        if (!is_harmless(whole)) {
            *out_line = line;
            *out_what = str_trim(str_slice(whole, 0, str_find(whole, '\n')));
            return true;
        }
        line += line_count;
    }
    return false;
}
