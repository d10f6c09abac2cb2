// SPDX-License-Identifier: Apache-2.0
// limit -- how much one client may take: the directives `limit_requests`, `limit_connections` and
// `limit_bandwidth`. A client is an IPv4 address or an IPv6 network of 64 bits.
#pragma once

#include "core/module.h"

extern struct module limit_module;
