// SPDX-License-Identifier: Apache-2.0
// php_program_test -- which PHP is taken of several.
#include "app/php_program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

static char base[64];

static void make(const char *name, mode_t mode)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", base, name);
    if (strchr(name, '/')) {
        char dir[256];
        (void)snprintf(dir, sizeof dir, "%s/lsphp74", base);
        assert_int_equal(mkdir(dir, 0755), 0);
        *strrchr(path, '/') = '\0';
        assert_int_equal(mkdir(path, 0755), 0);
        (void)snprintf(path, sizeof path, "%s/%s", base, name);
    }
    int fd = open(path, O_CREAT | O_WRONLY, mode);
    assert_true(fd >= 0);
    close(fd);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof base, "/tmp/godwit-php-XXXXXX");
    assert_non_null(mkdtemp(base));
    make("godwit-php6.6", 0755);
    make("lsphp6.6", 0755);
    make("lsphp6.5", 0755);
    make("lsphp6.4", 0644); // no program
    make("lsphp74/bin/lsphp", 0755);
    make("php-cgi6.5", 0755);
    make("php-cgi6.3", 0755);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r %s", base);
    return system(command);
}

static void the_best_of_a_version_is_found(void **state)
{
    static const struct {
        const char *version;
        enum php_program_kind kind;
        const char *path; // NULL: none
    } CASES[] = {
        {"6.6", PHP_PROGRAM_GODWIT, "godwit-php6.6"},
        {"6.5", PHP_PROGRAM_LSPHP, "lsphp6.5"},
        {"7.4", PHP_PROGRAM_LSPHP, "lsphp74/bin/lsphp"},
        {"6.3", PHP_PROGRAM_CGI, "php-cgi6.3"},
        {"6.4", PHP_PROGRAM_LSPHP, NULL},
        {"", PHP_PROGRAM_LSPHP, "lsphp6.6"}, // the newest by its first pattern
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a = {0};
        struct buf looked = {0};
        struct str dirs[] = {str_c(base)};
        struct key_words search = {.items = dirs, .count = 1};
        struct php_program got = {0};
        bool found = php_program_find(&a, str_c(CASES[i].version), &search, &got, &looked);
        assert_int_equal(found, CASES[i].path != NULL);
        if (found) {
            struct str path = arena_fmt(&a, "%s/%s", base, CASES[i].path);
            assert_string_equal(got.path, path.ptr);
            assert_int_equal(got.kind, CASES[i].kind);
        } else {
            struct str text = buf_view(&looked);
            assert_non_null(memmem(text.ptr, text.len, "/usr/local/lsws/lsphp64/bin/lsphp", 33));
            assert_non_null(memmem(text.ptr, text.len, "godwit-php6.4 beside", 20));
        }
        buf_done(&looked);
        arena_done(&a);
    }
}

static void versions_have_a_form(void **state)
{
    static const char *const GOOD[] = {"8.2", "10.0", "5.6"};
    static const char *const BAD[] = {"", "8", "8.", ".2", "8.2.1", "8.x", "v8.2", "8.2 ", "123.1"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(GOOD); i++)
        assert_true(php_program_is_version(str_c(GOOD[i])));
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_false(php_program_is_version(str_c(BAD[i])));
}

static void a_name_tells_the_kind(void **state)
{
    (void)state;
    assert_int_equal(php_program_kind(STR("/usr/bin/lsphp8.2")), PHP_PROGRAM_LSPHP);
    assert_int_equal(php_program_kind(STR("lsphp")), PHP_PROGRAM_LSPHP);
    assert_int_equal(php_program_kind(STR("/usr/bin/php-cgi8.2")), PHP_PROGRAM_CGI);
    assert_int_equal(php_program_kind(STR("/opt/lsphp82/bin/php-worker")), PHP_PROGRAM_GODWIT);
    assert_int_equal(php_program_kind(STR("/usr/libexec/godwit/godwit-php")), PHP_PROGRAM_GODWIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_of_a_version_is_found),
        cmocka_unit_test(versions_have_a_form),
        cmocka_unit_test(a_name_tells_the_kind),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
