// SPDX-License-Identifier: Apache-2.0
// accept_encoding -- see accept_encoding.h.
#include "http/accept_encoding.h"

#include "http/header.h"

// Reads "0", "0.5", "1.000": at most three digits behind the point, nothing above 1.
static int read_weight(struct str s)
{
    if (s.len == 0 || s.len > 5 || (s.ptr[0] != '0' && s.ptr[0] != '1'))
        return 0;
    int weight = s.ptr[0] == '1' ? 1000 : 0;
    if (s.len > 1 && s.ptr[1] != '.')
        return 0;
    int unit = 100;
    for (size_t i = 2; i < s.len; i++, unit /= 10) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return 0;
        weight += (s.ptr[i] - '0') * unit;
    }
    return weight <= 1000 ? weight : 0;
}

static int weight_of(struct str parameters)
{
    while (parameters.ptr && parameters.len > 0) {
        struct str parameter = str_trim(str_cut(&parameters, ';'));
        if (str_starts_nocase(parameter, STR("q=")))
            return read_weight(str_skip(parameter, 2));
    }
    return 1000;
}

int accept_encoding_quality(struct str value, struct str coding)
{
    int any = ACCEPT_ENCODING_UNNAMED;
    struct str member;
    while (header_next_member(&value, &member)) {
        struct str name = str_trim(str_cut(&member, ';'));
        bool is_gzip = str_eq_nocase(name, STR("x-gzip")) && str_eq(coding, STR("gzip"));
        if (str_eq_nocase(name, coding) || is_gzip)
            return weight_of(member);
        if (str_eq(name, STR("*")))
            any = weight_of(member);
    }
    return any;
}
