// SPDX-License-Identifier: Apache-2.0
// key_test -- the stock types read, refuse with bounds and units, and print what they would read.
#include "conf/key.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"

struct conf {
    bool flag;
    int64_t number, bounded, size, time, pause;
    struct str text, file, log;
    int level;
    struct key_words words, more;
    struct key_pairs pairs;
    struct key_range range;
};

static const char *const LEVELS[] = {"low", "middle", "high", NULL};

#define ROW(field, kind) .name = #field, .type = &(kind), .offset = offsetof(struct conf, field)

static const struct key KEYS[] = {
    {ROW(flag, KEY_FLAG), .scopes = KEY_TOP, .def = "on"},
    {ROW(number, KEY_INT), .scopes = KEY_TOP},
    {ROW(bounded, KEY_INT), .scopes = KEY_TOP, .def = "4", .min = 1, .max = 8, .unit = "requests"},
    {ROW(size, KEY_SIZE), .scopes = KEY_TOP, .def = "64k", .min = 1024, .max = INT64_MAX},
    {ROW(time, KEY_TIME), .scopes = KEY_TOP, .def = "90s", .min = 1000, .max = 3600000},
    {ROW(pause, KEY_TIME), .scopes = KEY_TOP},
    {ROW(text, KEY_STR), .scopes = KEY_TOP | KEY_SITE},
    {ROW(file, KEY_FILE), .scopes = KEY_TOP},
    {ROW(log, KEY_LOG), .scopes = KEY_TOP, .def = "stderr"},
    {ROW(level, KEY_ENUM), .scopes = KEY_TOP, .def = "middle", .words = LEVELS},
    {ROW(words, KEY_WORDS), .scopes = KEY_TOP, .def = "a b", .max = 3},
    {ROW(more, KEY_WORDS), .scopes = KEY_TOP, .repeats = true},
    {ROW(pairs, KEY_PAIRS), .scopes = KEY_TOP, .repeats = true},
    {ROW(range, KEY_RANGE), .scopes = KEY_TOP, .def = "0..4", .min = 0, .max = 64},
};

struct setting {
    struct arena arena;
    struct err err;
    struct conf conf;
    bool ok;
};

// Applies each directive of `text` to one conf that begins with the defaults.
static void apply(struct setting *s, const char *text, unsigned scope)
{
    struct tree_source source = {.arena = &s->arena, .dir = "/etc/godwit"};
    struct tree_node *first = NULL;
    struct tree_node **tail = &first;
    *s = (struct setting){.ok = true};
    key_defaults(KEYS, ARRAY_LEN(KEYS), &s->arena, &s->conf);
    assert_true(tree_parse(&source, "f", str_c(text), &tail, &s->err));
    for (const struct tree_node *node = first; node; node = node->next) {
        const struct key *key = key_find(KEYS, ARRAY_LEN(KEYS), node->name);
        assert_non_null(key);
        s->ok = key_apply(key, node, scope, &s->arena, &s->conf, &s->err) && s->ok;
    }
}

static void release(struct setting *s)
{
    arena_done(&s->arena);
    err_done(&s->err);
}

static void values_are_read_and_printed(void **state)
{
    (void)state;

    static const struct {
        const char *key, *text, *printed;
    } CASES[] = {
        {"flag", "", "on"},
        {"flag", "flag off;", "off"},
        {"number", "", "0"},
        {"number", "number 9223372036854775807;", "9223372036854775807"},
        {"bounded", "bounded 8;", "8"},
        {"size", "", "64k"},
        {"size", "size 1024;", "1k"},
        {"size", "size 1025;", "1025"},
        {"size", "size 3072k;", "3m"},
        {"size", "size 2G;", "2g"},
        {"size", "size 8589934591g;", "8589934591g"},
        {"time", "", "90s"},
        {"pause", "", "0"},
        {"pause", "pause 0;", "0"},
        {"time", "time 1;", "1s"},
        {"time", "time 1500ms;", "1500ms"},
        {"time", "time 120s;", "2m"},
        {"time", "time 10m;", "10m"},
        {"time", "time 1h;", "1h"},
        {"text", "text 'a b';", "\"a b\""},
        {"text", "text '';", "\"\""},
        {"file", "file /a/b;", "/a/b"},
        {"file", "file b;", "/etc/godwit/b"},
        {"file", "file ./b/../c;", "/etc/godwit/b/../c"},
        {"file", "file .;", "/etc/godwit"},
        {"log", "", "stderr"},
        {"log", "log stdout;", "stdout"},
        {"log", "log a.log;", "/etc/godwit/a.log"},
        {"level", "", "middle"},
        {"level", "level high;", "high"},
        {"words", "", "a b"},
        {"words", "words c;", "c"},
        {"words", "words c 'd e';", "c \"d e\""},
        {"more", "more a b; more c;", "a b c"},
        {"pairs", "pairs A 1; pairs B 'x y'; pairs A 2;", "B \"x y\"\nA 2"},
        {"range", "", "0..4"},
        {"range", "range 3;", "3"},
        {"range", "range 1..64;", "1..64"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct setting s;
        struct buf out = {0};
        apply(&s, CASES[i].text, KEY_TOP);
        assert_string_equal(err_text(&s.err), "");
        const struct key *key = key_find(KEYS, ARRAY_LEN(KEYS), str_c(CASES[i].key));
        key->type->print(key, (const char *)&s.conf + key->offset, &out);
        if (!str_eq(buf_view(&out), str_c(CASES[i].printed)))
            fail_msg("%s: %.*s", CASES[i].text, STR_ARG(buf_view(&out)));
        buf_done(&out);
        release(&s);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;

    static const struct {
        const char *text, *error;
    } CASES[] = {
        {"flag yes;", "f:1:6: \"flag\" is yes, on or off was expected"},
        {"flag;", "f:1:1: \"flag\" has 0 arguments, 1 was expected"},
        {"flag on off;", "f:1:1: \"flag\" has 2 arguments, 1 was expected"},
        {"flag on { }", "f:1:1: \"flag\" takes no block, \";\" was expected"},
        {"flag on\ntext a;",
         "f:2:1: \"text\" still belongs to \"flag\" in line 1, \";\" was expected before it"},
        {"flag\non\ntext a;",
         "f:3:1: \"text\" still belongs to \"flag\" in line 1, \";\" was expected before it"},
        {"words a\nsite a { }",
         "f:2:1: \"site\" still belongs to \"words\" in line 1, \";\" was expected before it"},
        {"number x;", "f:1:8: \"number\" is x, a number was expected"},
        {"number -1;", "f:1:8: \"number\" is -1, a number was expected"},
        {"number 1k;", "f:1:8: \"number\" is 1k, a number was expected"},
        {"number '';", "f:1:8: \"number\" is \"\", a number was expected"},
        {"number 9223372036854775808;",
         "f:1:8: \"number\" is 9223372036854775808, a number was expected"},
        {"bounded 0;", "f:1:9: \"bounded\" is 0, a number was expected, 1 to 8 requests"},
        {"bounded 9;", "f:1:9: \"bounded\" is 9, a number was expected, 1 to 8 requests"},
        {"size 1023;",
         "f:1:6: \"size\" is 1023, a size such as 512, 64k, 256m or 2g was expected, at least 1k"},
        {"size 8589934592g;",
         "f:1:6: \"size\" is 8589934592g, a size such as 512, 64k, 256m or 2g was expected, "
         "at least 1k"},
        {"size 64kb;",
         "f:1:6: \"size\" is 64kb, a size such as 512, 64k, 256m or 2g was expected, at least 1k"},
        {"time 999ms;",
         "f:1:6: \"time\" is 999ms, a time such as 500ms, 30s, 10m, 2h or 7d was expected, 1s to 1h"},
        {"time 2h;",
         "f:1:6: \"time\" is 2h, a time such as 500ms, 30s, 10m, 2h or 7d was expected, 1s to 1h"},
        {"time 1.5s;",
         "f:1:6: \"time\" is 1.5s, a time such as 500ms, 30s, 10m, 2h or 7d was expected, 1s to 1h"},
        {"file '';", "f:1:6: \"file\" is \"\", a path was expected"},
        {"level height;", "f:1:7: \"level\" is height, low, middle or high was expected"},
        {"words a b c d;", "f:1:1: \"words\" has 4 arguments, 1 to 3 were expected"},
        {"more;", "f:1:1: \"more\" has 0 arguments, at least 1 were expected"},
        {"pairs A;", "f:1:1: \"pairs\" has 1 argument, 2 were expected"},
        {"range 4..2;", "f:1:7: \"range\" is 4..2, MIN..MAX or one number was expected, 0 to 64"},
        {"range 4.2;", "f:1:7: \"range\" is 4.2, MIN..MAX or one number was expected, 0 to 64"},
        {"range 4..;", "f:1:7: \"range\" is 4.., MIN..MAX or one number was expected, 0 to 64"},
        {"range 0..65;", "f:1:7: \"range\" is 0..65, MIN..MAX or one number was expected, 0 to 64"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct setting s;
        apply(&s, CASES[i].text, KEY_TOP);
        assert_string_equal(err_text(&s.err), CASES[i].error);
        assert_false(s.ok);
        release(&s);
    }
}

static void scopes_are_checked(void **state)
{
    (void)state;
    struct setting s;
    char room[64];
    apply(&s, "flag on; text x;", KEY_SITE);
    assert_string_equal(err_text(&s.err), "f:1:1: \"flag\" may stand at top level, not in site");
    assert_true(str_eq(s.conf.text, STR("x")));
    release(&s);
    apply(&s, "text x;", KEY_APP);
    assert_string_equal(err_text(&s.err),
                        "f:1:1: \"text\" may stand at top level or in site, not in app");
    release(&s);
    assert_string_equal(key_scopes_text(KEY_TOP | KEY_SITE | KEY_PATH, room),
                        "top level, site, path");
    assert_string_equal(key_scopes_text(KEY_APP, room), "app");
}

static void lists_of_a_parent_scope_stay_as_they_are(void **state)
{
    (void)state;
    struct setting s;
    apply(&s, "more a; pairs A 1;", KEY_TOP);
    struct conf child = s.conf;
    struct str args[] = {STR("B"), STR("2")};
    struct tree_pos places[2] = {{"f", 1, 1}, {"f", 1, 3}};
    struct tree_node node = {.args = args, .arg_pos = places, .arg_count = 2};
    const struct key *more = key_find(KEYS, ARRAY_LEN(KEYS), STR("more"));
    const struct key *pairs = key_find(KEYS, ARRAY_LEN(KEYS), STR("pairs"));
    assert_true(key_apply(more, &node, KEY_TOP, &s.arena, &child, &s.err));
    assert_true(key_apply(pairs, &node, KEY_TOP, &s.arena, &child, &s.err));
    assert_int_equal(child.more.count, 3);
    assert_int_equal(child.pairs.count, 2);
    assert_int_equal(s.conf.more.count, 1);
    assert_int_equal(s.conf.pairs.count, 1);
    release(&s);
}

static void distances_count_slips(void **state)
{
    (void)state;

    static const struct {
        const char *a, *b;
        unsigned distance;
    } CASES[] = {
        {"", "", 0},
        {"a", "", 1},
        {"", "abc", 3},
        {"root", "root", 0},
        {"rooot", "root", 1},
        {"rot", "root", 1},
        {"roit", "root", 1},
        {"orot", "root", 1},
        {"lisetn", "listen", 1},
        {"kitten", "sitting", 3},
        {"ca", "abc", 3},
        {"abcd", "badc", 2},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        assert_int_equal(key_distance(str_c(CASES[i].a), str_c(CASES[i].b)), CASES[i].distance);
        assert_int_equal(key_distance(str_c(CASES[i].b), str_c(CASES[i].a)), CASES[i].distance);
    }
    char longer[65];
    memset(longer, 'a', sizeof longer);
    assert_int_equal(key_distance(str_n(longer, 65), STR("a")), 64);
    assert_int_equal(key_distance(str_n(longer, 64), STR("a")), 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_and_printed),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(scopes_are_checked),
        cmocka_unit_test(lists_of_a_parent_scope_stay_as_they_are),
        cmocka_unit_test(distances_count_slips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
