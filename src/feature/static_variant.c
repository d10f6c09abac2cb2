// SPDX-License-Identifier: Apache-2.0
// static_variant -- see static_variant.h.
#include "feature/static_variant.h"

#include "core/target.h"
#include "core/target_cache.h"
#include "http/accept_encoding.h"

struct str static_variant_suffix(struct str coding)
{
    static const struct str SUFFIXES[][2] = {
        {STR_INIT("br"), STR_INIT(".br")},
        {STR_INIT("zstd"), STR_INIT(".zst")},
        {STR_INIT("gzip"), STR_INIT(".gz")},
    };
    for (size_t i = 0; i < ARRAY_LEN(SUFFIXES); i++)
        if (str_eq(SUFFIXES[i][0], coding))
            return SUFFIXES[i][1];
    return (struct str){0};
}

struct static_variant static_variant_choose(const struct static_conf *conf, struct exchange *ex)
{
    const struct target *target = &ex->target;
    struct static_variant best = {
        .path = target->file,
        .path_hash = target->file_hash,
        .facts = {.kind = LOOK_FILE,
                  .size = target->size,
                  .mtime_s = target->mtime_s,
                  .mtime_ns = target->mtime_ns,
                  .inode = target->inode},
    };
    if (!static_conf_has_precompressed(conf))
        return best;
    struct str accepted = header_list_joined(&ex->req.headers, HEADER_ACCEPT_ENCODING);
    // As it is: only if the client says that it likes that better, or nothing else will do.
    int best_quality = accept_encoding_quality(accepted, STR("identity"));
    if (best_quality < 1)
        best_quality = 1;
    for (size_t i = 0; i < conf->precompressed.count; i++) {
        struct str coding = conf->precompressed.items[i];
        struct str suffix = static_variant_suffix(coding);
        struct str path = arena_fmt(&ex->arena, "%.*s%.*s", STR_ARG(target->file), STR_ARG(suffix));
        struct target_look look = target_look(ex, path);
        if (look.seen != TARGET_SEEN_FILE || look.part_len != path.len)
            continue;
        best.varies = true;
        int quality = accept_encoding_quality(accepted, coding);
        bool is_better = best.coding.len ? quality > best_quality : quality >= best_quality;
        if (!is_better)
            continue;
        best_quality = quality;
        best.path = path;
        best.path_hash = look.path_hash;
        best.facts = look.facts;
        best.coding = coding;
    }
    return best;
}
