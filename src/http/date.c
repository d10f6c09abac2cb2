// SPDX-License-Identifier: Apache-2.0
// date -- see date.h. The calendar is computed in years that begin with March, so that the leap day
// is the last of its year and months have a regular length.
#include "http/date.h"

#include <string.h>

enum {
    DAY_S = 86400,
    ERA_YEARS = 400,
    ERA_DAYS = 146097,       // days of 400 years
    EPOCH_DAYS = 719468,     // from 1 March of year 0 to 1 January 1970
    DAYS_TO_MARCH_END = 306, // days from 1 March to 1 January
    YEAR_MAX = 9999,
};

static const int64_t UNIX_S_MIN = -62167219200; // 0000-01-01 00:00:00
static const int64_t UNIX_S_MAX = 253402300799; // 9999-12-31 23:59:59

static const char MONTHS[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const struct str DAYS[7] = {
    STR_INIT("Sunday"),   STR_INIT("Monday"), STR_INIT("Tuesday"),  STR_INIT("Wednesday"),
    STR_INIT("Thursday"), STR_INIT("Friday"), STR_INIT("Saturday"),
};

enum { DAY_SHORT_BYTES = 3 };

// Days before the first of a month, counted from March (0) to February (11): 0, 31, 61, 92 ...
static int days_before_month(int march_month)
{
    return (153 * march_month + 2) / 5;
}

struct date_parts date_split(int64_t unix_s)
{
    struct date_parts p;
    if (unix_s < UNIX_S_MIN)
        unix_s = UNIX_S_MIN;
    if (unix_s > UNIX_S_MAX)
        unix_s = UNIX_S_MAX;
    int64_t day = unix_s / DAY_S;
    int64_t second = unix_s % DAY_S;
    if (second < 0) {
        second += DAY_S;
        day--;
    }
    p.hour = (int)(second / 3600);
    p.minute = (int)(second / 60 % 60);
    p.second = (int)(second % 60);
    p.weekday = (int)((day % 7 + 7 + 4) % 7); // 1 January 1970 was a Thursday

    // One era more than needed keeps year 0's January and February positive.
    int64_t from_march = day + EPOCH_DAYS + ERA_DAYS;
    int64_t era = from_march / ERA_DAYS;
    int in_era = (int)(from_march % ERA_DAYS);
    int year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int in_year = in_era - (365 * year + year / 4 - year / 100);
    int march_month = (5 * in_year + 2) / 153;
    p.day = in_year - days_before_month(march_month) + 1;
    p.month = march_month < 10 ? march_month + 3 : march_month - 9;
    p.year = (int)(era - 1) * ERA_YEARS + year + (in_year >= DAYS_TO_MARCH_END);
    return p;
}

int64_t date_join(const struct date_parts *parts)
{
    int64_t year = parts->year - (parts->month <= 2) + ERA_YEARS;
    int64_t era = year / ERA_YEARS;
    int64_t in_era = year % ERA_YEARS;
    int march_month = parts->month > 2 ? parts->month - 3 : parts->month + 9;
    int64_t in_year = days_before_month(march_month) + parts->day - 1;
    int64_t day = (era - 1) * ERA_DAYS + 365 * in_era + in_era / 4 - in_era / 100 + in_year;
    int64_t clock_s = parts->hour * 3600 + parts->minute * 60 + parts->second;
    return (day - EPOCH_DAYS) * DAY_S + clock_s;
}

static void put_digits(char *to, int value, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        to[i] = (char)('0' + value % 10);
        value /= 10;
    }
}

struct str date_format(int64_t unix_s, char room[DATE_BYTES + 1])
{
    struct date_parts p = date_split(unix_s);
    memcpy(room, "Sun, 00 Jan 0000 00:00:00 GMT", DATE_BYTES + 1);
    memcpy(room, DAYS[p.weekday].ptr, DAY_SHORT_BYTES);
    put_digits(room + 5, p.day, 2);
    memcpy(room + 8, MONTHS[p.month - 1], 3);
    put_digits(room + 12, p.year, 4);
    put_digits(room + 17, p.hour, 2);
    put_digits(room + 20, p.minute, 2);
    put_digits(room + 23, p.second, 2);
    return str_n(room, DATE_BYTES);
}

// What is left to read; each take_* fails for good once one has failed.
struct cursor {
    struct str left;
    bool failed;
};

static void take_text(struct cursor *c, struct str text)
{
    if (!str_starts(c->left, text))
        c->failed = true;
    else
        c->left = str_skip(c->left, text.len);
}

static int take_digits(struct cursor *c, size_t count)
{
    uint64_t value = 0;
    if (c->left.len < count || !str_to_u64(str_slice(c->left, 0, count), &value))
        c->failed = true;
    c->left = str_skip(c->left, count);
    return (int)value;
}

static int take_month(struct cursor *c)
{
    for (int i = 0; i < 12; i++) {
        if (str_starts(c->left, str_n(MONTHS[i], 3))) {
            c->left = str_skip(c->left, 3);
            return i + 1;
        }
    }
    c->failed = true;
    return 1;
}

static void take_clock(struct cursor *c, struct date_parts *p)
{
    p->hour = take_digits(c, 2);
    take_text(c, STR(":"));
    p->minute = take_digits(c, 2);
    take_text(c, STR(":"));
    p->second = take_digits(c, 2);
}

// "Sun, 06 Nov 1994 08:49:37 GMT", after the comma.
static void take_fixed(struct cursor *c, struct date_parts *p)
{
    take_text(c, STR(", "));
    p->day = take_digits(c, 2);
    take_text(c, STR(" "));
    p->month = take_month(c);
    take_text(c, STR(" "));
    p->year = take_digits(c, 4);
    take_text(c, STR(" "));
    take_clock(c, p);
    take_text(c, STR(" GMT"));
}

// "Sunday, 06-Nov-94 08:49:37 GMT", after the weekday.
static void take_rfc850(struct cursor *c, int year_now, struct date_parts *p)
{
    take_text(c, STR(", "));
    p->day = take_digits(c, 2);
    take_text(c, STR("-"));
    p->month = take_month(c);
    take_text(c, STR("-"));
    p->year = year_now / 100 * 100 + take_digits(c, 2);
    if (p->year > year_now + 50)
        p->year -= 100;
    take_text(c, STR(" "));
    take_clock(c, p);
    take_text(c, STR(" GMT"));
}

// "Sun Nov  6 08:49:37 1994", after the weekday.
static void take_asctime(struct cursor *c, struct date_parts *p)
{
    take_text(c, STR(" "));
    p->month = take_month(c);
    take_text(c, STR(" "));
    if (str_starts(c->left, STR(" "))) {
        take_text(c, STR(" "));
        p->day = take_digits(c, 1);
    } else {
        p->day = take_digits(c, 2);
    }
    take_text(c, STR(" "));
    take_clock(c, p);
    take_text(c, STR(" "));
    p->year = take_digits(c, 4);
}

static bool is_real(const struct date_parts *p)
{
    static const uint8_t LENGTHS[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = p->year % 4 == 0 && (p->year % 100 != 0 || p->year % 400 == 0);
    int days = LENGTHS[p->month - 1] + (p->month == 2 && is_leap);
    return p->year >= 0 && p->year <= YEAR_MAX && p->day >= 1 && p->day <= days && p->hour < 24
           && p->minute < 60 && p->second <= 60; // 60: a leap second
}

bool date_parse(struct str s, int64_t now_s, int64_t *out_unix_s)
{
    struct cursor c = {.left = s};
    struct date_parts parts = {.month = 1};
    struct str day = {NULL, 0};
    for (size_t i = 0; i < 7 && !day.len; i++) {
        if (str_starts(s, DAYS[i]))
            day = DAYS[i];
        else if (str_starts(s, str_slice(DAYS[i], 0, DAY_SHORT_BYTES)))
            day = str_slice(DAYS[i], 0, DAY_SHORT_BYTES);
    }
    if (!day.len)
        return false;
    take_text(&c, day);
    if (day.len > DAY_SHORT_BYTES)
        take_rfc850(&c, date_split(now_s).year, &parts);
    else if (str_starts(c.left, STR(",")))
        take_fixed(&c, &parts);
    else
        take_asctime(&c, &parts);
    if (c.failed || c.left.len || !is_real(&parts))
        return false;
    *out_unix_s = date_join(&parts);
    return true;
}
