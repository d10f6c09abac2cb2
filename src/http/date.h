// SPDX-License-Identifier: Apache-2.0
// date -- HTTP dates from and to seconds since 1970, in UTC (RFC 9110 §5.6.7). Reads no clock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { DATE_BYTES = 29 }; // "Sun, 06 Nov 1994 08:49:37 GMT"

// The parts of a moment, for logs that write other forms.
struct date_parts {
    int year;    // 1994
    int month;   // 1 to 12
    int day;     // 1 to 31
    int weekday; // 0 is Sunday
    int hour, minute, second;
};

// date_split takes a moment apart. Any int64 second of the years 0 to 9999; others are clamped.
struct date_parts date_split(int64_t unix_s);

// date_join is the moment of the parts (weekday ignored); the ranges are the caller's to check.
int64_t date_join(const struct date_parts *parts);

// date_format writes the fixed form and a NUL into `room` and returns the DATE_BYTES before it.
struct str date_format(int64_t unix_s, char room[DATE_BYTES + 1]);

// date_parse reads the fixed form, RFC 850's and asctime's. The weekday must be one but need not
// agree. A two-digit year more than 50 years after `now_s` means the past century. False on
// anything else.
MUST_USE bool date_parse(struct str s, int64_t now_s, int64_t *out_unix_s);
