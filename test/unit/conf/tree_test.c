// SPDX-License-Identifier: Apache-2.0
// tree_test -- configuration text becomes directives, or messages that say where and what was
// expected.
#include "conf/tree.h"

#include <stdio.h>
#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"

struct parsed {
    struct arena arena;
    struct err err;
    struct tree_node *first;
    bool ok;
};

static bool include_two(struct tree_source *source, struct str pattern, struct tree_pos pos,
                        struct tree_node ***tail, struct err *err)
{
    if (str_eq(pattern, STR("missing")))
        return tree_error(err, pos, "no file matches \"missing\", at least one was expected");
    if (str_eq(pattern, STR("itself")))
        return tree_parse(source, "itself", STR("include itself;"), tail, err);
    if (str_eq(pattern, STR("deep")))
        return tree_parse(source, "deep", STR("a { a { a { a { a { a { a { a { x; } } } } } } } }"),
                          tail, err);
    const char *dir = source->dir;
    source->dir = "/inc";
    bool ok = tree_parse(source, "one", STR("x 1;"), tail, err);
    ok = tree_parse(source, "two", STR("y { z; }"), tail, err) && ok;
    source->dir = dir;
    return ok;
}

static void parse(struct parsed *p, struct str text)
{
    struct tree_source source = {.arena = &p->arena, .include = include_two, .dir = "/etc"};
    struct tree_node **tail = &p->first;
    p->ok = tree_parse(&source, "f", text, &tail, &p->err);
    assert_int_equal(source.block_depth, 0);
    assert_int_equal(source.include_depth, 0);
}

static void release(struct parsed *p)
{
    arena_done(&p->arena);
    err_done(&p->err);
}

static void texts_become_trees(void **state)
{
    (void)state;

    static const struct {
        const char *name, *text, *dump;
    } CASES[] = {
        {"nothing", "", ""},
        {"only white space and comments", " \t\r\n# a ; } {\n#", ""},
        {"no argument", "a;", "a;\n"},
        {"arguments", "a b  c\n\td ;", "a b c d;\n"},
        {"several on a line", "a;b;c 1;", "a;\nb;\nc 1;\n"},
        {"block", "site a { root /x; path /y { } }",
         "site a {\n    root /x;\n    path /y {\n    }\n}\n"},
        {"no white space around braces", "a{b{c;}}d;", "a {\n    b {\n        c;\n    }\n}\nd;\n"},
        {"comment inside a directive", "a # one\n b; # two", "a b;\n"},
        {"# inside a word", "a b#c;", "a b#c;\n"},
        {"strings", "a \"b c\" 'd;e' \"\" '#';", "a \"b c\" \"d;e\" \"\" \"#\";\n"},
        {"escapes", "a \"\\\\ \\\" \\' \\n \\t\";", "a \"\\\\ \\\" ' \\n \\t\";\n"},
        {"backslashes outside of double quotes stay", "a \\.php$ '\\d';", "a \\.php$ \\d;\n"},
        {"placeholders", "root /srv/{host}/{a_b}{c}; t {path} x;",
         "root \"/srv/{host}/{a_b}{c}\";\nt \"{path}\" x;\n"},
        {"blocks that look alike", "a {b;}c{d {e;}}",
         "a {\n    b;\n}\nc {\n    d {\n        e;\n    }\n}\n"},
        {"byte order mark",
         "\xef\xbb\xbf"
         "a;",
         "a;\n"},
        {"bytes above ASCII", "a \xc3\xa9 \xff;", "a \xc3\xa9 \xff;\n"},
        {"CRLF", "a b;\r\nc;\r\n", "a b;\nc;\n"},
        {"include", "a; include both; b;", "a;\nx 1;\ny {\n    z;\n}\nb;\n"},
        {"include in a block", "a { include both; }",
         "a {\n    x 1;\n    y {\n        z;\n    }\n}\n"},
        {"include at the deepest place", "a { a { a { a { a { a { a { include deep; } } } } } } }",
         NULL},
        {"include quoted name is still include", "a { include 'both'; }",
         "a {\n    x 1;\n    y {\n        z;\n    }\n}\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct parsed p = {0};
        parse(&p, str_c(CASES[i].text));
        assert_string_equal(err_text(&p.err), "");
        assert_true(p.ok);
        struct buf dump = {0};
        tree_dump(p.first, &dump);
        if (CASES[i].dump && !str_eq(buf_view(&dump), str_c(CASES[i].dump)))
            fail_msg("%s: %.*s", CASES[i].name, STR_ARG(buf_view(&dump)));
        // What a dump parses to dumps alike.
        struct parsed again = {0};
        struct buf second = {0};
        parse(&again, buf_view(&dump));
        assert_true(again.ok);
        tree_dump(again.first, &second);
        assert_true(str_eq(buf_view(&dump), buf_view(&second)));
        buf_done(&dump);
        buf_done(&second);
        release(&again);
        release(&p);
    }
}

static void errors_say_where_and_what_was_expected(void **state)
{
    (void)state;

    static const struct {
        const char *text, *errors;
    } CASES[] = {
        {"a", "f:1:1: \"a\" has no end, \";\" was expected"},
        {"a b\nc", "f:1:1: \"a\" has no end, \";\" was expected"},
        {"}", "f:1:1: \"}\" without an open block, a directive was expected"},
        {"a;\n  };", "f:2:3: \"}\" without an open block, a directive was expected\n"
                     "f:2:4: \";\" without a name, a directive was expected"},
        {"a {", "f:1:1: block of \"a\" is not closed, \"}\" was expected"},
        {"a {\n b {\n c;", "f:2:2: block of \"b\" is not closed, \"}\" was expected\n"
                           "f:1:1: block of \"a\" is not closed, \"}\" was expected"},
        {"a { b c }\nd;", "f:1:9: \"}\" before the end of \"b\", \";\" was expected"},
        {";", "f:1:1: \";\" without a name, a directive was expected"},
        {"{ a; }", "f:1:1: \"{\" without a name, a directive was expected"},
        {"-a b;", "f:1:1: \"-a\" is no directive, a name of letters, digits and _ was expected"},
        {"\"a\" b;", "f:1:1: string where the name of a directive was expected"},
        {"a \"b\nc;", "f:1:3: string is not closed, \" was expected before the end of the line"},
        {"a 'b", "f:1:3: string is not closed, ' was expected before the end of the line"},
        {"a \"b\\", "f:1:3: string is not closed, \" was expected before the end of the line"},
        {"a { b \"c;\n}",
         "f:1:7: string is not closed, \" was expected before the end of the line"},
        {"a \"b\\q\";", "f:1:6: unknown escape, \\\\ \\\" \\' \\n or \\t was expected "
                        "(single quotes keep backslashes as they are)"},
        {"a \"b\"c d;", "f:1:6: text right behind a string, white space or \";\" was expected"},
        {"a b\"c\" d;", "f:1:4: quote \" inside a word, white space or \";\" was expected "
                        "(put the whole word in quotes)"},
        {"a \x01;", "f:1:3: byte 0x01 can't stand in a configuration, text was expected"},
        {"a 'b\x7f';", "f:1:5: byte 0x7f can't stand in a configuration, text was expected"},
        {"include;", "f:1:1: \"include\" has 0 arguments, one was expected: a file or a pattern"},
        {"include a b;",
         "f:1:1: \"include\" has 2 arguments, one was expected: a file or a pattern"},
        {"include a { }", "f:1:11: \"include\" takes no block, \";\" was expected"},
        {"include missing;", "f:1:9: no file matches \"missing\", at least one was expected"},
        {"include itself;",
         "itself:1:1: files include each other too deep, at most 16 levels were expected"},
        {"a { a { a { a { a { a { a { a { a { include deep; } } } } } } } } }",
         "deep:1:31: blocks stand too deep, at most 16 levels were expected"},
        {"a { b; } } c; d", "f:1:10: \"}\" without an open block, a directive was expected\n"
                            "f:1:15: \"d\" has no end, \";\" was expected"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct parsed p = {0};
        parse(&p, str_c(CASES[i].text));
        assert_string_equal(err_text(&p.err), CASES[i].errors);
        assert_false(p.ok);
        release(&p);
    }
}

static void limits_hold(void **state)
{
    (void)state;
    struct buf text = {0};
    struct parsed p = {0};
    buf_fmt(&text, "a");
    for (int i = 0; i < TREE_ARGS_MAX; i++)
        buf_fmt(&text, " b");
    buf_fmt(&text, ";");
    parse(&p, buf_view(&text));
    assert_true(p.ok);
    assert_int_equal(p.first->arg_count, TREE_ARGS_MAX);
    release(&p);

    p = (struct parsed){0};
    buf_take(&text, 1);
    struct buf longer = {0};
    buf_fmt(&longer, "a b%.*s", STR_ARG(buf_view(&text)));
    parse(&p, buf_view(&longer));
    assert_string_equal(err_text(&p.err), "f:1:515: too many arguments, at most 256 were expected");
    release(&p);
    buf_done(&text);
    buf_done(&longer);

    p = (struct parsed){0};
    struct buf stray = {0};
    for (int i = 0; i < 1000; i++)
        buf_fmt(&stray, ";");
    parse(&p, buf_view(&stray));
    assert_int_equal(p.err.count, 51);
    assert_non_null(strstr(err_text(&p.err), "f:1:51: too many errors"));
    release(&p);
    buf_done(&stray);
}

static void places_and_directories_are_known(void **state)
{
    (void)state;
    struct parsed p = {0};
    parse(&p, STR("a b\n  c;\ninclude both;\nd;"));
    const struct tree_node *a = p.first;
    const struct tree_node *x = a->next;
    const struct tree_node *d = x->next->next;
    assert_int_equal(a->arg_pos[0].line, 1);
    assert_int_equal(a->arg_pos[0].column, 3);
    assert_int_equal(a->arg_pos[1].line, 2);
    assert_int_equal(a->arg_pos[1].column, 3);
    assert_string_equal(a->dir, "/etc");
    assert_string_equal(x->pos.file, "one");
    assert_string_equal(x->dir, "/inc");
    assert_string_equal(x->next->pos.file, "two");
    assert_string_equal(d->pos.file, "f");
    assert_string_equal(d->dir, "/etc");
    assert_int_equal(d->pos.line, 4);
    release(&p);
}

static const char *const PACKED[] = {"", "a;", "a b 'c d' { e; f { } } include both; g \"\";"};

static void what_was_packed_comes_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(PACKED); i++) {
        struct parsed p = {0};
        struct arena arena = {0};
        struct buf packed = {0};
        struct buf again = {0};
        bool ok;
        parse(&p, str_c(PACKED[i]));
        tree_pack(p.first, &packed);
        const struct tree_node *first = tree_unpack(buf_view(&packed), &arena, &ok);
        assert_true(ok);
        tree_pack(first, &again);
        assert_true(str_eq(buf_view(&packed), buf_view(&again)));
        const struct tree_node *was = p.first;
        for (; first; first = first->next, was = was->next) {
            assert_true(str_eq(first->name, was->name));
            assert_string_equal(first->pos.file, was->pos.file);
            assert_string_equal(first->dir, was->dir);
            assert_int_equal(first->pos.column, was->pos.column);
            assert_int_equal(first->arg_count, was->arg_count);
            assert_int_equal(first->has_block, was->has_block);
        }
        assert_null(was);
        buf_done(&packed);
        buf_done(&again);
        arena_done(&arena);
        release(&p);
    }
}

static void damaged_packs_are_refused(void **state)
{
    (void)state;
    struct parsed p = {0};
    struct arena arena = {0};
    struct buf packed = {0};
    bool ok;
    parse(&p, str_c(PACKED[2]));
    tree_pack(p.first, &packed);
    struct str whole = buf_view(&packed);
    for (size_t len = 0; len < whole.len; len++) {
        assert_null(tree_unpack(str_slice(whole, 0, len), &arena, &ok));
        assert_false(ok);
    }
    assert_true(buf_put(&packed, STR("x")));
    assert_null(tree_unpack(buf_view(&packed), &arena, &ok));
    assert_false(ok);
    // The first node says that its file is that of the node before it.
    assert_null(tree_unpack(STR("GWT1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), &arena, &ok));
    assert_false(ok);
    buf_done(&packed);
    arena_done(&arena);
    release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_trees),
        cmocka_unit_test(errors_say_where_and_what_was_expected),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(places_and_directories_are_known),
        cmocka_unit_test(what_was_packed_comes_back),
        cmocka_unit_test(damaged_packs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
