// SPDX-License-Identifier: Apache-2.0
// accept_encoding -- what a client says about content codings (RFC 9110 §12.5.3).
#pragma once

#include "base/str.h"

#define ACCEPT_ENCODING_UNNAMED (-1)

// accept_encoding_quality is the weight of `coding` in an Accept-Encoding value, in thousandths; 0:
// not acceptable. A malformed weight is 0. ACCEPT_ENCODING_UNNAMED: neither it nor "*" stands
// there.
int accept_encoding_quality(struct str value, struct str coding);
