// SPDX-License-Identifier: Apache-2.0
// condition -- see condition.h.
#include "http/condition.h"

#include "http/date.h"

// A date is a strong validator only when the thing has not been young enough to change again within
// the same second (RFC 9110 §8.8.2.2).
enum { STRONG_AFTER_S = 1 };

struct etag {
    struct str opaque; // with its quotes
    bool is_weak;
};

// Takes one entity tag off the front of *rest; false when none stands there.
static bool take_etag(struct str *rest, struct etag *out)
{
    struct str s = *rest;
    out->is_weak = str_starts(s, STR("W/"));
    if (out->is_weak)
        s = str_skip(s, 2);
    if (!s.len || s.ptr[0] != '"')
        return false;
    size_t end = 1 + str_find(str_skip(s, 1), '"');
    if (end >= s.len)
        return false;
    out->opaque = str_slice(s, 0, end + 1);
    *rest = str_skip(s, end + 1);
    return true;
}

static bool etags_match(const struct etag *a, const struct etag *b, bool strongly)
{
    if (strongly && (a->is_weak || b->is_weak))
        return false;
    return str_eq(a->opaque, b->opaque);
}

// Tells whether one tag of the list is that of the thing, or the list is "*" and a thing is there.
// Reading stops at the first malformed member: what comes behind it matches nothing.
static bool list_matches(struct str list, const struct condition_state *state, bool strongly)
{
    struct etag own;
    struct etag asked;
    struct str tag = state->etag;
    list = str_trim(list);
    if (!state->exists)
        return false;
    if (str_eq(list, STR("*")))
        return true;
    if (!take_etag(&tag, &own))
        return false;
    while (list.len) {
        if (list.ptr[0] == ',') {
            list = str_trim(str_skip(list, 1));
            continue;
        }
        if (!take_etag(&list, &asked))
            return false;
        if (etags_match(&own, &asked, strongly))
            return true;
        list = str_trim(list);
        if (list.len && list.ptr[0] != ',')
            return false;
    }
    return false;
}

// Tells whether a date header is valid and the thing has changed after it.
static bool changed_after(struct str value, const struct condition_state *state, int64_t now_s,
                          bool *out_valid)
{
    int64_t date_s = 0;
    *out_valid =
        value.ptr && state->exists && state->has_mtime && date_parse(value, now_s, &date_s);
    return *out_valid && state->mtime_s > date_s;
}

// Whether If-Range lets the Range count; absent is yes (RFC 9110 §13.1.5).
static bool range_is_current(struct str value, const struct condition_state *state, int64_t now_s)
{
    struct etag own;
    struct etag asked;
    int64_t date_s;
    if (!value.ptr)
        return true;
    if (!state->exists)
        return false;
    struct str rest = value;
    struct str tag = state->etag;
    if (take_etag(&rest, &asked))
        return !rest.len && take_etag(&tag, &own) && etags_match(&own, &asked, true);
    return state->has_mtime && date_parse(value, now_s, &date_s) && date_s == state->mtime_s
           && now_s - state->mtime_s >= STRONG_AFTER_S;
}

// Steps 1 and 2 of RFC 9110 §13.2.2: what protects against a lost update.
static bool may_change(const struct condition *c, const struct condition_state *state,
                       int64_t now_s)
{
    bool valid;
    if (c->if_match.ptr)
        return list_matches(c->if_match, state, true);
    return !changed_after(c->if_unmodified_since, state, now_s, &valid);
}

// Steps 3 and 4: whether the client has what it asks for.
static bool has_already(const struct condition *c, bool is_read,
                        const struct condition_state *state, int64_t now_s)
{
    bool valid;
    if (c->if_none_match.ptr)
        return list_matches(c->if_none_match, state, false);
    return is_read && !changed_after(c->if_modified_since, state, now_s, &valid) && valid;
}

enum condition_result condition_eval(const struct condition *c, enum http_method method,
                                     const struct condition_state *state, int64_t now_s,
                                     bool *out_range_applies)
{
    bool is_read = method == HTTP_GET || method == HTTP_HEAD;
    *out_range_applies = method == HTTP_GET && range_is_current(c->if_range, state, now_s);
    if (!may_change(c, state, now_s))
        return CONDITION_FAILED;
    if (has_already(c, is_read, state, now_s))
        return is_read ? CONDITION_NOT_MODIFIED : CONDITION_FAILED;
    return CONDITION_PROCEED;
}
