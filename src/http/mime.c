// SPDX-License-Identifier: Apache-2.0
// mime -- see mime.h.
#include "http/mime.h"

#include "http/mime_rare.h"

enum { EXTENSION_BYTES_MAX = 16 };

struct mime_row {
    struct str extension; // lower case
    struct str type;
    struct str content_type; // ready for the header
};

#define CHARSET "; charset=utf-8"
#define TYPE(extension, type)                         \
 {                                                    \
  STR_INIT(extension), STR_INIT(type), STR_INIT(type) \
 }
#define TEXT(extension, type)                                 \
 {                                                            \
  STR_INIT(extension), STR_INIT(type), STR_INIT(type CHARSET) \
 }

// What is usual; the rest is in mime_rare.c. In the order of str_cmp; the unit test checks it.
static const struct mime_row ROWS[] = {
    TYPE("3gp", "video/3gpp"),
    TYPE("3mf", "model/3mf"),
    TYPE("7z", "application/x-7z-compressed"),
    TYPE("aac", "audio/aac"),
    TYPE("ai", "application/postscript"),
    TYPE("apk", "application/vnd.android.package-archive"),
    TYPE("apng", "image/apng"),
    TYPE("atom", "application/atom+xml"),
    TYPE("avi", "video/x-msvideo"),
    TYPE("avif", "image/avif"),
    TYPE("azw", "application/vnd.amazon.ebook"),
    TYPE("bin", "application/octet-stream"),
    TYPE("bmp", "image/bmp"),
    TYPE("br", "application/octet-stream"),
    TYPE("bz2", "application/x-bzip2"),
    TEXT("cjs", "text/javascript"),
    TEXT("conf", "text/plain"),
    TEXT("css", "text/css"),
    TEXT("csv", "text/csv"),
    TYPE("cur", "image/vnd.microsoft.icon"),
    TYPE("deb", "application/vnd.debian.binary-package"),
    TEXT("diff", "text/plain"),
    TYPE("dmg", "application/x-apple-diskimage"),
    TYPE("doc", "application/msword"),
    TYPE("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    TYPE("dtd", "application/xml-dtd"),
    TYPE("eot", "application/vnd.ms-fontobject"),
    TYPE("eps", "application/postscript"),
    TYPE("epub", "application/epub+zip"),
    TYPE("exe", "application/octet-stream"),
    TYPE("flac", "audio/flac"),
    TYPE("flv", "video/x-flv"),
    TYPE("geojson", "application/geo+json"),
    TYPE("gif", "image/gif"),
    TYPE("glb", "model/gltf-binary"),
    TYPE("gltf", "model/gltf+json"),
    TYPE("gpx", "application/gpx+xml"),
    TYPE("gz", "application/gzip"),
    TYPE("heic", "image/heic"),
    TYPE("heif", "image/heif"),
    TEXT("htm", "text/html"),
    TEXT("html", "text/html"),
    TYPE("ico", "image/vnd.microsoft.icon"),
    TEXT("ics", "text/calendar"),
    TYPE("img", "application/octet-stream"),
    TYPE("iso", "application/octet-stream"),
    TYPE("jar", "application/java-archive"),
    TYPE("jfif", "image/jpeg"),
    TYPE("jpe", "image/jpeg"),
    TYPE("jpeg", "image/jpeg"),
    TYPE("jpg", "image/jpeg"),
    TEXT("js", "text/javascript"),
    TYPE("json", "application/json"),
    TYPE("jsonld", "application/ld+json"),
    TYPE("jxl", "image/jxl"),
    TYPE("key", "application/vnd.apple.keynote"),
    TYPE("kml", "application/vnd.google-earth.kml+xml"),
    TYPE("kmz", "application/vnd.google-earth.kmz"),
    TEXT("log", "text/plain"),
    TYPE("m3u8", "application/vnd.apple.mpegurl"),
    TYPE("m4a", "audio/mp4"),
    TYPE("m4s", "video/iso.segment"),
    TYPE("m4v", "video/mp4"),
    TYPE("map", "application/json"),
    TEXT("markdown", "text/markdown"),
    TEXT("md", "text/markdown"),
    TYPE("mid", "audio/midi"),
    TYPE("midi", "audio/midi"),
    TEXT("mjs", "text/javascript"),
    TYPE("mkv", "video/matroska"),
    TYPE("mov", "video/quicktime"),
    TYPE("mp3", "audio/mpeg"),
    TYPE("mp4", "video/mp4"),
    TYPE("mpd", "application/dash+xml"),
    TYPE("mpeg", "video/mpeg"),
    TYPE("mpg", "video/mpeg"),
    TYPE("msi", "application/octet-stream"),
    TYPE("ndjson", "application/x-ndjson"),
    TYPE("odp", "application/vnd.oasis.opendocument.presentation"),
    TYPE("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    TYPE("odt", "application/vnd.oasis.opendocument.text"),
    TYPE("oga", "audio/ogg"),
    TYPE("ogg", "audio/ogg"),
    TYPE("ogv", "video/ogg"),
    TYPE("opus", "audio/ogg"),
    TYPE("otf", "font/otf"),
    TEXT("patch", "text/plain"),
    TYPE("pdf", "application/pdf"),
    TYPE("pem", "application/x-pem-file"),
    TYPE("pfx", "application/x-pkcs12"),
    TYPE("png", "image/png"),
    TYPE("ppt", "application/vnd.ms-powerpoint"),
    TYPE("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    TYPE("ps", "application/postscript"),
    TYPE("rar", "application/vnd.rar"),
    TYPE("rdf", "application/rdf+xml"),
    TYPE("rpm", "application/x-rpm"),
    TYPE("rss", "application/rss+xml"),
    TYPE("rtf", "application/rtf"),
    TYPE("sql", "application/sql"),
    TYPE("stl", "model/stl"),
    TYPE("svg", "image/svg+xml"),
    TYPE("svgz", "image/svg+xml"),
    TYPE("swf", "application/vnd.adobe.flash.movie"),
    TYPE("tar", "application/x-tar"),
    TEXT("text", "text/plain"),
    TYPE("tgz", "application/gzip"),
    TYPE("tif", "image/tiff"),
    TYPE("tiff", "image/tiff"),
    TYPE("toml", "application/toml"),
    TYPE("ts", "video/mp2t"),
    TEXT("tsv", "text/tab-separated-values"),
    TYPE("ttc", "font/collection"),
    TYPE("ttf", "font/ttf"),
    TEXT("txt", "text/plain"),
    TEXT("vcf", "text/vcard"),
    TEXT("vtt", "text/vtt"),
    TYPE("wasm", "application/wasm"),
    TYPE("wav", "audio/wav"),
    TYPE("weba", "audio/webm"),
    TYPE("webm", "video/webm"),
    TYPE("webmanifest", "application/manifest+json"),
    TYPE("webp", "image/webp"),
    TYPE("wmv", "video/x-ms-wmv"),
    TYPE("woff", "font/woff"),
    TYPE("woff2", "font/woff2"),
    TYPE("xht", "application/xhtml+xml"),
    TYPE("xhtml", "application/xhtml+xml"),
    TYPE("xls", "application/vnd.ms-excel"),
    TYPE("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    TYPE("xml", "application/xml"),
    TYPE("xsd", "application/xml"),
    TYPE("xsl", "application/xslt+xml"),
    TYPE("xslt", "application/xslt+xml"),
    TYPE("xz", "application/x-xz"),
    TYPE("yaml", "application/yaml"),
    TYPE("yml", "application/yaml"),
    TYPE("zip", "application/zip"),
    TYPE("zst", "application/zstd"),
};

// Lower-case extension of a file name in `room`; empty when there is none or it is too long.
static struct str extension_of(struct str file_name, char room[EXTENSION_BYTES_MAX])
{
    struct str name = file_name;
    size_t slash = str_rfind(name, '/');
    if (slash < name.len)
        name = str_skip(name, slash + 1);
    size_t dot = str_rfind(name, '.');
    struct str extension = str_skip(name, dot + 1);
    if (dot >= name.len || extension.len > EXTENSION_BYTES_MAX)
        return STR("");
    for (size_t i = 0; i < extension.len; i++) {
        char c = extension.ptr[i];
        room[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    return str_n(room, extension.len);
}

static const struct mime_row *find(struct str extension)
{
    size_t low = 0;
    size_t high = ARRAY_LEN(ROWS);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(extension, ROWS[middle].extension);
        if (order == 0)
            return &ROWS[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

struct str mime_find(struct str file_name)
{
    char room[EXTENSION_BYTES_MAX];
    struct str extension = extension_of(file_name, room);
    const struct mime_row *row = find(extension);
    if (row)
        return row->type;
    struct str rare = mime_rare_find(extension);
    return rare.ptr ? str_cut(&rare, ';') : rare;
}

struct str mime_content_type(struct str file_name)
{
    char room[EXTENSION_BYTES_MAX];
    struct str extension = extension_of(file_name, room);
    const struct mime_row *row = find(extension);
    if (row)
        return row->content_type;
    struct str rare = mime_rare_find(extension);
    return rare.ptr ? rare : STR("application/octet-stream");
}

bool mime_is_compressible(struct str type)
{
    static const struct str TYPES[] = {
        STR_INIT("application/javascript"),
        STR_INIT("application/json"),
        STR_INIT("application/rtf"),
        STR_INIT("application/sql"),
        STR_INIT("application/toml"),
        STR_INIT("application/vnd.apple.mpegurl"),
        STR_INIT("application/wasm"),
        STR_INIT("application/x-javascript"),
        STR_INIT("application/x-ndjson"),
        STR_INIT("application/xml"),
        STR_INIT("application/xml-dtd"),
        STR_INIT("application/yaml"),
        STR_INIT("font/otf"),
        STR_INIT("font/ttf"),
        STR_INIT("font/collection"),
        STR_INIT("image/bmp"),
        STR_INIT("image/vnd.microsoft.icon"),
        STR_INIT("application/vnd.ms-fontobject"),
        STR_INIT("model/gltf-binary"),
        STR_INIT("model/stl"),
    };
    struct str bare = str_trim(str_cut(&type, ';'));
    if (str_starts_nocase(bare, STR("text/")))
        return !str_eq_nocase(bare, STR("text/event-stream")); // each event must leave at once
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
        if (str_eq_nocase(bare, TYPES[i]))
            return true;
    return (bare.len > 4 && str_eq_nocase(str_skip(bare, bare.len - 4), STR("+xml")))
           || (bare.len > 5 && str_eq_nocase(str_skip(bare, bare.len - 5), STR("+json")));
}
