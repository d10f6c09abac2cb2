// SPDX-License-Identifier: Apache-2.0
// header -- see header.h; the table of known names is header_id.c.
#include "http/header.h"

#include <endian.h>
#include <string.h>

#include "base/assert.h"

enum { LIST_SIZE_FIRST = 16 };

// 1: may stand in a token (RFC 9110 §5.6.2).
static const uint8_t TOKEN[256] = {
    ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1, ['&'] = 1, ['\''] = 1, ['*'] = 1, ['+'] = 1,
    ['-'] = 1, ['.'] = 1, ['^'] = 1, ['_'] = 1, ['`'] = 1, ['|'] = 1,  ['~'] = 1, ['0'] = 1,
    ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1,  ['7'] = 1, ['8'] = 1,
    ['9'] = 1, ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1,  ['F'] = 1, ['G'] = 1,
    ['H'] = 1, ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1, ['M'] = 1,  ['N'] = 1, ['O'] = 1,
    ['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1,  ['V'] = 1, ['W'] = 1,
    ['X'] = 1, ['Y'] = 1, ['Z'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1,  ['d'] = 1, ['e'] = 1,
    ['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1, ['k'] = 1,  ['l'] = 1, ['m'] = 1,
    ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1,  ['t'] = 1, ['u'] = 1,
    ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1,
};

size_t header_token_end(struct str bytes, size_t at)
{
    while (at < bytes.len && TOKEN[(unsigned char)bytes.ptr[at]])
        at++;
    return at;
}

bool header_is_token(struct str s)
{
    return s.len && header_token_end(s, 0) == s.len;
}

static const uint64_t ONES = 0x0101010101010101;
static const uint64_t HIGHS = 0x8080808080808080;

// Marks bytes of `word` that are zero. The lowest mark is right, those above it need not be.
static uint64_t zeros_of(uint64_t word)
{
    return (word - ONES) & ~word & HIGHS;
}

// Marks bytes of `word` below `least` (at most 0x80), in the same way.
static uint64_t lower_of(uint64_t word, unsigned char least)
{
    return (word - ONES * least) & ~word & HIGHS;
}

size_t header_text_end(struct str bytes, size_t at, unsigned char least)
{
    for (; bytes.len - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes.ptr + at, sizeof word);
        word = le64toh(word);
        uint64_t marks = lower_of(word, least) | zeros_of(word ^ ONES * 0x7f);
        if (marks)
            return at + (size_t)__builtin_ctzll(marks) / 8;
    }
    while (at < bytes.len && (unsigned char)bytes.ptr[at] >= least && bytes.ptr[at] != 0x7f)
        at++;
    return at;
}

bool header_value_ok(struct str s)
{
    size_t at = header_text_end(s, 0, 0x20);
    while (at < s.len && s.ptr[at] == '\t')
        at = header_text_end(s, at + 1, 0x20);
    return at == s.len;
}

bool header_next_member(struct str *rest, struct str *out_member)
{
    while (rest->len) {
        struct str member = str_trim(str_cut(rest, ','));
        if (member.len) {
            *out_member = member;
            return true;
        }
    }
    return false;
}

bool header_has_token(struct str value, struct str token)
{
    struct str member;
    while (header_next_member(&value, &member))
        if (str_eq_nocase(member, token))
            return true;
    return false;
}

struct header header_make(struct str name, struct str value)
{
    return (struct header){.name = name, .value = value, .id = (uint8_t)header_id_find(name)};
}

struct header header_line(enum header_id id, struct str value, char *room)
{
    struct str name = header_id_name(id);
    ASSERT(id != HEADER_OTHER && header_value_ok(value));
    memcpy(room, name.ptr, name.len);
    memcpy(room + name.len, ": ", 2);
    char *to = room + name.len + 2;
    if (value.len)
        memcpy(to, value.ptr, value.len);
    memcpy(to + value.len, "\r\n", 2);
    return (struct header){
        .name = str_n(room, name.len),
        .value = str_n(to, value.len),
        .id = (uint8_t)id,
        .is_line = true,
    };
}

static uint64_t mark_of(unsigned id)
{
    return UINT64_C(1) << id % 64;
}

// False for what was never added; most of what is asked for was not.
static bool may_have(const struct header_list *l, enum header_id id)
{
    return (l->seen & mark_of(id)) != 0;
}

// Makes room for `more` further items. The old array stays in the arena until its reset.
static void reserve(struct header_list *l, size_t more)
{
    if (l->count + more <= l->size)
        return;
    ASSERT(l->arena);
    size_t size = l->size ? l->size * 2 : LIST_SIZE_FIRST;
    if (size < l->count + more)
        size = l->count + more;
    struct header *items = arena_array(l->arena, struct header, size);
    if (l->count)
        memcpy(items, l->items, l->count * sizeof *items);
    l->items = items;
    l->size = size;
}

static void append(struct header_list *l, struct header item)
{
    reserve(l, 1);
    l->seen |= mark_of(item.id);
    l->items[l->count++] = item;
}

// A known name is told by its id; only unknown ones need their text compared.
static bool is_same(const struct header *h, enum header_id id, struct str name)
{
    return h->id == id && (id != HEADER_OTHER || str_eq_nocase(h->name, name));
}

static struct header *find(const struct header_list *l, enum header_id id, struct str name)
{
    if (!may_have(l, id))
        return NULL;
    for (size_t i = 0; i < l->count; i++)
        if (is_same(&l->items[i], id, name))
            return &l->items[i];
    return NULL;
}

// Removes from index `from` on.
static size_t remove_from(struct header_list *l, size_t from, enum header_id id, struct str name)
{
    size_t kept = from;
    if (!may_have(l, id))
        return 0;
    for (size_t i = from; i < l->count; i++)
        if (!is_same(&l->items[i], id, name))
            l->items[kept++] = l->items[i];
    size_t removed = l->count - kept;
    l->count = kept;
    return removed;
}

static void set(struct header_list *l, struct header item)
{
    enum header_id id = (enum header_id)item.id;
    struct header *first = find(l, id, item.name);
    if (!first) {
        append(l, item);
        return;
    }
    *first = item;
    remove_from(l, (size_t)(first - l->items) + 1, id, item.name);
}

static struct header make_known(enum header_id id, struct str value)
{
    ASSERT(id != HEADER_OTHER);
    return (struct header){.name = header_id_name(id), .value = value, .id = (uint8_t)id};
}

void header_list_add(struct header_list *l, struct str name, struct str value)
{
    append(l, header_make(name, value));
}

void header_list_add_id(struct header_list *l, enum header_id id, struct str value)
{
    append(l, make_known(id, value));
}

void header_list_copy(struct header_list *l, const struct header *items, size_t count)
{
    if (!count)
        return;
    reserve(l, count);
    for (size_t i = 0; i < count; i++)
        l->seen |= mark_of(items[i].id);
    memcpy(l->items + l->count, items, count * sizeof *items);
    l->count += count;
}

struct header *header_list_find(const struct header_list *l, struct str name)
{
    return find(l, header_id_find(name), name);
}

struct header *header_list_find_id(const struct header_list *l, enum header_id id)
{
    ASSERT(id != HEADER_OTHER);
    return find(l, id, STR(""));
}

struct str header_list_value(const struct header_list *l, enum header_id id)
{
    const struct header *h = header_list_find_id(l, id);
    return h ? h->value : (struct str){NULL, 0};
}

struct str header_list_joined(const struct header_list *l, enum header_id id)
{
    size_t fields = 0;
    size_t bytes = 0;
    if (!may_have(l, id))
        return (struct str){NULL, 0};
    for (size_t i = 0; i < l->count; i++) {
        if (l->items[i].id == id) {
            fields++;
            bytes += l->items[i].value.len + 2;
        }
    }
    if (fields < 2)
        return header_list_value(l, id);
    char *text = arena_alloc(l->arena, bytes);
    size_t len = 0;
    for (size_t i = 0; i < l->count; i++) {
        struct str value = l->items[i].value;
        if (l->items[i].id != id)
            continue;
        if (len) {
            text[len++] = ',';
            text[len++] = ' ';
        }
        if (value.len)
            memcpy(text + len, value.ptr, value.len);
        len += value.len;
    }
    return str_n(text, len);
}

size_t header_list_remove(struct header_list *l, struct str name)
{
    return remove_from(l, 0, header_id_find(name), name);
}

size_t header_list_remove_id(struct header_list *l, enum header_id id)
{
    ASSERT(id != HEADER_OTHER);
    return remove_from(l, 0, id, STR(""));
}

void header_list_set(struct header_list *l, struct str name, struct str value)
{
    set(l, header_make(name, value));
}

void header_list_set_id(struct header_list *l, enum header_id id, struct str value)
{
    set(l, make_known(id, value));
}
