// SPDX-License-Identifier: Apache-2.0
// status -- see status.h. The phrases are those of the IANA registry.
#include "http/status.h"

enum { STATUS_MIN = 100, STATUS_MAX = 599 };

static const struct str REASONS[STATUS_MAX + 1] = {
    [100] = STR_INIT("Continue"),
    [101] = STR_INIT("Switching Protocols"),
    [102] = STR_INIT("Processing"),
    [103] = STR_INIT("Early Hints"),
    [200] = STR_INIT("OK"),
    [201] = STR_INIT("Created"),
    [202] = STR_INIT("Accepted"),
    [203] = STR_INIT("Non-Authoritative Information"),
    [204] = STR_INIT("No Content"),
    [205] = STR_INIT("Reset Content"),
    [206] = STR_INIT("Partial Content"),
    [207] = STR_INIT("Multi-Status"),
    [208] = STR_INIT("Already Reported"),
    [226] = STR_INIT("IM Used"),
    [300] = STR_INIT("Multiple Choices"),
    [301] = STR_INIT("Moved Permanently"),
    [302] = STR_INIT("Found"),
    [303] = STR_INIT("See Other"),
    [304] = STR_INIT("Not Modified"),
    [305] = STR_INIT("Use Proxy"),
    [307] = STR_INIT("Temporary Redirect"),
    [308] = STR_INIT("Permanent Redirect"),
    [400] = STR_INIT("Bad Request"),
    [401] = STR_INIT("Unauthorized"),
    [402] = STR_INIT("Payment Required"),
    [403] = STR_INIT("Forbidden"),
    [404] = STR_INIT("Not Found"),
    [405] = STR_INIT("Method Not Allowed"),
    [406] = STR_INIT("Not Acceptable"),
    [407] = STR_INIT("Proxy Authentication Required"),
    [408] = STR_INIT("Request Timeout"),
    [409] = STR_INIT("Conflict"),
    [410] = STR_INIT("Gone"),
    [411] = STR_INIT("Length Required"),
    [412] = STR_INIT("Precondition Failed"),
    [413] = STR_INIT("Content Too Large"),
    [414] = STR_INIT("URI Too Long"),
    [415] = STR_INIT("Unsupported Media Type"),
    [416] = STR_INIT("Range Not Satisfiable"),
    [417] = STR_INIT("Expectation Failed"),
    [421] = STR_INIT("Misdirected Request"),
    [422] = STR_INIT("Unprocessable Content"),
    [423] = STR_INIT("Locked"),
    [424] = STR_INIT("Failed Dependency"),
    [425] = STR_INIT("Too Early"),
    [426] = STR_INIT("Upgrade Required"),
    [428] = STR_INIT("Precondition Required"),
    [429] = STR_INIT("Too Many Requests"),
    [431] = STR_INIT("Request Header Fields Too Large"),
    [451] = STR_INIT("Unavailable For Legal Reasons"),
    [500] = STR_INIT("Internal Server Error"),
    [501] = STR_INIT("Not Implemented"),
    [502] = STR_INIT("Bad Gateway"),
    [503] = STR_INIT("Service Unavailable"),
    [504] = STR_INIT("Gateway Timeout"),
    [505] = STR_INIT("HTTP Version Not Supported"),
    [506] = STR_INIT("Variant Also Negotiates"),
    [507] = STR_INIT("Insufficient Storage"),
    [508] = STR_INIT("Loop Detected"),
    [511] = STR_INIT("Network Authentication Required"),
};

bool status_is_valid(int status)
{
    return status >= STATUS_MIN && status <= STATUS_MAX;
}

struct str status_reason(int status)
{
    if (!status_is_valid(status) || !REASONS[status].ptr)
        return STR("");
    return REASONS[status];
}

bool status_has_body(int status)
{
    return status >= 200 && status != 204 && status != 304;
}
