// SPDX-License-Identifier: Apache-2.0
// php_program -- see php_program.h.
#include "app/php_program.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEWEST_MAJOR 9
#define OLDEST_MAJOR 5
#define SELF_BYTES   4096

// Where packages put lsphp; %V is a version (8.2), %N its digits (82). Without either it is the
// system's choice. Names without a directory are looked for in the path.
static const char *const LSPHP_PLACES[] = {
    "/usr/local/lsws/fcgi-bin/lsphp",          "lsphp",
    "/usr/local/lsws/lsphp%N/bin/lsphp",       "lsphp%V",
    "/opt/cpanel/ea-php%N/root/usr/bin/lsphp", "/opt/alt/php%N/usr/bin/lsphp",
};

static const char *const CGI_PLACES[] = {
    "php-cgi",
    "php-cgi%V",
    "/opt/plesk/php/%V/bin/php-cgi",
    "/opt/remi/php%N/root/usr/bin/php-cgi",
};

// In a directory of php_search; NULL ends.
static const char *const LSPHP_SEARCHED[] = {"lsphp", "lsphp%V", "lsphp%N/bin/lsphp", NULL};
static const char *const CGI_SEARCHED[] = {"php-cgi", "php-cgi%V", NULL};

struct search {
    struct arena *arena;
    struct str version;
    const struct key_words *dirs;
    struct buf *looked;
};

static bool is_digits(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    return s.len > 0 && s.len <= 2;
}

bool php_program_is_version(struct str text)
{
    struct str major = str_cut(&text, '.');
    return is_digits(major) && is_digits(text);
}

enum php_program_kind php_program_kind(struct str path)
{
    struct str name = str_skip(path, str_rfind(path, '/') + 1);
    if (str_rfind(path, '/') == path.len)
        name = path;
    if (str_starts(name, STR("php-cgi")))
        return PHP_PROGRAM_CGI;
    return str_starts(name, STR("lsphp")) ? PHP_PROGRAM_LSPHP : PHP_PROGRAM_GODWIT;
}

bool php_program_is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

const char *php_program_in_path(struct arena *a, struct str name)
{
    struct str rest = STR(PHP_PROGRAM_PATH);
    while (rest.ptr) {
        struct str dir = str_cut(&rest, ':');
        const char *path = arena_fmt(a, "%.*s/%.*s", STR_ARG(dir), STR_ARG(name)).ptr;
        if (php_program_is_there(path))
            return path;
    }
    return NULL;
}

const char *php_program_own(struct arena *a, const char *room, struct str name)
{
    static const char *const PLACES[] = {
        "runtime/%s/",        "../runtime/%s/", "../../runtime/%s/",
        "../libexec/godwit/", "../lib/godwit/", "",
    };
    char self[SELF_BYTES];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self);
    if (len <= 0 || (size_t)len == sizeof self)
        return NULL;
    struct str dir =
        str_slice(str_n(self, (size_t)len), 0, str_rfind(str_n(self, (size_t)len), '/'));
    for (size_t i = 0; i < ARRAY_LEN(PLACES); i++) {
        struct str place = str_c(PLACES[i]);
        size_t at = str_find(place, '%');
        struct str folder = at < place.len ? str_c(room) : STR("");
        struct str rest = at < place.len ? str_skip(place, at + 2) : STR("");
        const char *path =
            arena_fmt(a, "%.*s/%.*s%.*s%.*s%.*s", STR_ARG(dir), STR_ARG(str_slice(place, 0, at)),
                      STR_ARG(folder), STR_ARG(rest), STR_ARG(name))
                .ptr;
        if (php_program_is_there(path))
            return path;
    }
    return NULL;
}

// A pattern with the version filled in.
static struct str fill(struct arena *a, struct str pattern, struct str version)
{
    size_t at = str_find(pattern, '%');
    if (at == pattern.len)
        return pattern;
    struct str minor = version;
    struct str major = str_cut(&minor, '.');
    struct str before = str_slice(pattern, 0, at);
    struct str after = str_skip(pattern, at + 2);
    if (pattern.ptr[at + 1] == 'V')
        return arena_fmt(a, "%.*s%.*s%.*s", STR_ARG(before), STR_ARG(version), STR_ARG(after));
    return arena_fmt(a, "%.*s%.*s%.*s%.*s", STR_ARG(before), STR_ARG(major), STR_ARG(minor),
                     STR_ARG(after));
}

static const char *try_place(struct search *s, struct str pattern, struct str version)
{
    struct str name = fill(s->arena, pattern, version);
    if (str_find(name, '/') == name.len)
        return php_program_in_path(s->arena, name);
    const char *path = arena_dup(s->arena, name).ptr;
    return php_program_is_there(path) ? path : NULL;
}

static void note(struct search *s, struct str pattern, struct str version)
{
    if (version.len || str_find(pattern, '%') == pattern.len)
        pattern = fill(s->arena, pattern, version);
    buf_fmt(s->looked, "%s%.*s", buf_len(s->looked) ? ", " : "", STR_ARG(pattern));
}

// A place of one version, or that which names none; of no version the newest that there is.
static const char *try_versions(struct search *s, struct str pattern)
{
    char room[8];
    bool has_version = str_find(pattern, '%') < pattern.len;
    if (s->version.len && !has_version)
        return NULL;
    note(s, pattern, s->version);
    if (s->version.len || !has_version)
        return try_place(s, pattern, s->version);
    memcpy(room, "0.0", sizeof "0.0");
    for (char major = '0' + NEWEST_MAJOR; major >= '0' + OLDEST_MAJOR; major--) {
        for (char minor = '9'; minor >= '0'; minor--) {
            room[0] = major;
            room[2] = minor;
            const char *path = try_place(s, pattern, str_c(room));
            if (path)
                return path;
        }
    }
    return NULL;
}

static const char *find_godwit(struct search *s)
{
    struct str name = s->version.len ? arena_fmt(s->arena, "godwit-php%.*s", STR_ARG(s->version))
                                     : STR("godwit-php");
    for (size_t i = 0; i < s->dirs->count; i++) {
        struct str path =
            arena_fmt(s->arena, "%.*s/%.*s", STR_ARG(s->dirs->items[i]), STR_ARG(name));
        note(s, path, s->version);
        if (php_program_is_there(path.ptr))
            return path.ptr;
    }
    buf_fmt(s->looked, "%s%.*s beside this program", buf_len(s->looked) ? ", " : "", STR_ARG(name));
    return php_program_own(s->arena, "php", name);
}

static const char *find_foreign(struct search *s, const char *const *searched,
                                const char *const *places, size_t place_count)
{
    const char *path = NULL;
    for (size_t i = 0; i < s->dirs->count && !path; i++) {
        for (size_t j = 0; searched[j] && !path; j++) {
            path = try_versions(
                s, arena_fmt(s->arena, "%.*s/%s", STR_ARG(s->dirs->items[i]), searched[j]));
        }
    }
    for (size_t i = 0; i < place_count && !path; i++)
        path = try_versions(s, str_c(places[i]));
    return path;
}

bool php_program_find(struct arena *a, struct str version, const struct key_words *search,
                      struct php_program *out, struct buf *looked)
{
    struct search s = {.arena = a, .version = version, .dirs = search, .looked = looked};
    enum php_program_kind kind = PHP_PROGRAM_GODWIT;
    const char *path = find_godwit(&s);
    if (!path) {
        kind = PHP_PROGRAM_LSPHP;
        path = find_foreign(&s, LSPHP_SEARCHED, LSPHP_PLACES, ARRAY_LEN(LSPHP_PLACES));
    }
    if (!path) {
        kind = PHP_PROGRAM_CGI;
        path = find_foreign(&s, CGI_SEARCHED, CGI_PLACES, ARRAY_LEN(CGI_PLACES));
    }
    if (!path)
        return false;
    *out = (struct php_program){kind, path};
    return true;
}
