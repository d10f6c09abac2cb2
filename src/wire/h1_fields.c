// SPDX-License-Identifier: Apache-2.0
// h1_fields -- see h1_fields.h.
#include "wire/h1_fields.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

// Expects CR LF at `at`.
static enum h1_fields_result expect_crlf(struct str bytes, size_t at)
{
    if (bytes.ptr[at] != '\r')
        return bytes.ptr[at] == '\n' ? H1_FIELDS_BARE_LF : H1_FIELDS_CONTROL;
    if (at + 1 == bytes.len)
        return H1_FIELDS_AGAIN;
    return bytes.ptr[at + 1] == '\n' ? H1_FIELDS_OK : H1_FIELDS_BARE_LF;
}

// Reads the name at *at and moves *at behind the colon.
static enum h1_fields_result parse_name(struct str bytes, size_t *at, struct str *out_name)
{
    size_t end = header_token_end(bytes, *at);
    if (end == bytes.len)
        return H1_FIELDS_AGAIN;
    char c = bytes.ptr[end];
    if (c != ':') {
        if (c == '\n')
            return H1_FIELDS_BARE_LF;
        if (!is_space(c))
            return H1_FIELDS_BAD_NAME;
        return end == *at ? H1_FIELDS_FOLDED : H1_FIELDS_SPACE_COLON;
    }
    if (end == *at)
        return H1_FIELDS_BAD_NAME;
    *out_name = str_slice(bytes, *at, end);
    *at = end + 1;
    return H1_FIELDS_OK;
}

// Reads the value at *at, without white space around it, and moves *at behind its CRLF.
static enum h1_fields_result parse_value(struct str bytes, size_t *at, struct str *out_value)
{
    size_t from = *at;
    while (from < bytes.len && is_space(bytes.ptr[from]))
        from++;
    size_t end = header_text_end(bytes, from, 0x20);
    while (end < bytes.len && bytes.ptr[end] == '\t')
        end = header_text_end(bytes, end + 1, 0x20);
    if (end == bytes.len)
        return H1_FIELDS_AGAIN;
    enum h1_fields_result result = expect_crlf(bytes, end);
    if (result != H1_FIELDS_OK)
        return result;
    *at = end + 2;
    while (end > from && is_space(bytes.ptr[end - 1]))
        end--;
    *out_value = str_n(bytes.ptr + from, end - from);
    return H1_FIELDS_OK;
}

enum h1_fields_result h1_fields_parse(struct str bytes, size_t *at, struct header *room,
                                      size_t room_count, size_t *out_count)
{
    size_t pos = *at;
    size_t count = 0;
    enum h1_fields_result result;
    while (pos < bytes.len && bytes.ptr[pos] != '\r') {
        struct str name;
        struct str value;
        if ((result = parse_name(bytes, &pos, &name)) != H1_FIELDS_OK)
            return result;
        if (count == room_count)
            return H1_FIELDS_TOO_MANY;
        if ((result = parse_value(bytes, &pos, &value)) != H1_FIELDS_OK)
            return result;
        room[count++] = header_make(name, value);
    }
    if (pos == bytes.len)
        return H1_FIELDS_AGAIN;
    if ((result = expect_crlf(bytes, pos)) != H1_FIELDS_OK)
        return result;
    *at = pos + 2;
    *out_count = count;
    return H1_FIELDS_OK;
}

static enum h1_framing_result add_length(struct str value, struct h1_framing *f)
{
    uint64_t length;
    // A list or a repetition could be allowed when all are equal (RFC 9110 §8.6); no client needs
    // it.
    if (f->content_length >= 0 || !str_to_u64(value, &length) || length > INT64_MAX)
        return H1_FRAMING_BAD_LENGTH;
    f->content_length = (int64_t)length;
    return H1_FRAMING_OK;
}

// Only "chunked" alone is read; its members in any other number or order have no safe meaning.
static enum h1_framing_result add_transfer(struct str value, struct h1_framing *f)
{
    if (f->is_chunked)
        return H1_FRAMING_BAD_TRANSFER;
    if (str_eq_nocase(value, STR("chunked"))) {
        f->is_chunked = true;
        return H1_FRAMING_OK;
    }
    struct str member;
    bool was_chunked = false, is_unknown = false;
    while (header_next_member(&value, &member)) {
        if (was_chunked)
            return H1_FRAMING_BAD_TRANSFER;
        was_chunked = str_eq_nocase(member, STR("chunked"));
        is_unknown |= !was_chunked;
    }
    return is_unknown ? H1_FRAMING_UNKNOWN : H1_FRAMING_BAD_TRANSFER;
}

static void add_connection(struct str value, struct h1_framing *f)
{
    struct str member;
    while (header_next_member(&value, &member)) {
        f->says_close |= str_eq_nocase(member, STR("close"));
        f->says_keep_alive |= str_eq_nocase(member, STR("keep-alive"));
        f->says_upgrade |= str_eq_nocase(member, STR("upgrade"));
    }
}

enum h1_framing_result h1_fields_framing(const struct header *headers, size_t count,
                                         struct h1_framing *out)
{
    struct h1_framing f = {.content_length = -1};
    enum h1_framing_result result = H1_FRAMING_OK;
    for (size_t i = 0; i < count && result == H1_FRAMING_OK; i++) {
        if (headers[i].id == HEADER_CONTENT_LENGTH)
            result = add_length(headers[i].value, &f);
        else if (headers[i].id == HEADER_TRANSFER_ENCODING)
            result = add_transfer(headers[i].value, &f);
        else if (headers[i].id == HEADER_CONNECTION)
            add_connection(headers[i].value, &f);
    }
    if (result == H1_FRAMING_OK && f.is_chunked && f.content_length >= 0)
        result = H1_FRAMING_BOTH;
    if (result == H1_FRAMING_OK)
        *out = f;
    return result;
}

bool h1_fields_is_due(struct str bytes, size_t seen, size_t mark)
{
    if (seen == 0 || (seen <= mark && mark < bytes.len))
        return true;
    for (size_t i = seen; i < bytes.len; i++) {
        i += str_find(str_skip(bytes, i), '\n');
        if (i == bytes.len)
            break;
        if (bytes.ptr[i - 1] != '\r')
            return true;
        if (i >= 3 && bytes.ptr[i - 2] == '\n')
            return true;
    }
    return false;
}
