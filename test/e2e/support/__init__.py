# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: the server under test, a raw HTTP client, processes, waiting."""
