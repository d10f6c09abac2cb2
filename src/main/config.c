// SPDX-License-Identifier: Apache-2.0
// config -- see config.h.
#include "main/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "main/config_dir.h"
#include "main/config_file.h"

#define PORT_DEFAULT 8080

static bool read_port(const char *text, unsigned *out, struct err *err)
{
    uint64_t port;
    if (!str_to_u64(str_c(text), &port) || port < 1 || port > 65535)
        return err_set(err, "port is \"%s\", 1 to 65535 was expected", text);
    *out = (unsigned)port;
    return true;
}

bool config_source_read(int argc, char **argv, struct config_source *out, struct err *err)
{
    struct config_source source = {.port = PORT_DEFAULT, .name = ""};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool is_option = argv[i][0] == '-';
        if (is_option && !value)
            return err_set(err, "%s has no value, one was expected", argv[i]);
        if (!is_option) {
            source.dir = argv[i];
        } else if (strcmp(argv[i], "-c") == 0) {
            source.file = value;
        } else if (strcmp(argv[i], "-n") == 0) {
            source.name = value;
        } else if (strcmp(argv[i], "-p") != 0) {
            return err_set(err, "unknown option %s, -c, -n or -p was expected", argv[i]);
        } else if (!read_port(value, &source.port, err)) {
            return false;
        }
        i += is_option;
    }
    if (!source.file == !source.dir)
        return err_set(err, "a configuration file (-c FILE) or a directory was expected");
    *out = source;
    return true;
}

// Nodes keep the name and the directory of their file: the arena's, not the caller's.
static const char *absolute(struct arena *a, const char *path)
{
    char here[4096];
    if (path[0] == '/' || !getcwd(here, sizeof here))
        return arena_dup(a, str_c(path)).ptr;
    return arena_fmt(a, "%s/%s", here, path).ptr;
}

bool config_read(const struct config_source *source, struct arena *a, struct tree_node **out_first,
                 struct err *err)
{
    struct tree_node *first = NULL;
    if (source->file) {
        if (!config_file_read(absolute(a, source->file), a, &first, err))
            return false;
    } else if (!config_dir_read(absolute(a, source->dir), source->port, a, &first, err)) {
        return false;
    }
    *out_first = first;
    return true;
}
