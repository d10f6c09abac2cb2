// SPDX-License-Identifier: Apache-2.0
// hash -- SipHash-1-3 for tables keyed by strangers' bytes (Aumasson and Bernstein, 2012), and a
// digest text for comparing settings.
#pragma once

#include <stdint.h>

#include "base/str.h"

// hash_key sets the process's secret; call once at start with random bytes, before any table.
void hash_key(uint64_t k0, uint64_t k1);

// hash_str hashes bytes under the process's secret.
uint64_t hash_str(struct str s);

// hash_fold folds ASCII letters to lower case while hashing: equal under str_eq_nocase, equal here.
uint64_t hash_fold(struct str s);

// hash_fixed hashes under a fixed key: the same in each process and run (settings, not tables).
uint64_t hash_fixed(struct str s);
