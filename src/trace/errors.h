/* SPDX-License-Identifier: MIT */
/* What can be wrong with a trace. Users script on these numbers: append only, never renumber.
 * The table in docs/trace-format.md says what each means. */
#pragma once

enum trace_error {
        TRACE_E_NOT_A_TRACE = 1,
        TRACE_E_TOO_NEW = 2,
        TRACE_E_BAD_HEADER = 3,
        TRACE_E_BAD_CHECK = 4,
        TRACE_E_BAD_SUM = 5,
        TRACE_E_CUT_OFF = 6,
        TRACE_E_BAD_BODY = 7,
        TRACE_E_TOO_LARGE = 8,
        TRACE_E_BAD_PAYLOAD = 9,
        TRACE_E_BAD_ID = 10,
        TRACE_E_BAD_ORDER = 11,
        TRACE_E_BAD_REFERENCE = 12,
        TRACE_E_BAD_ROW = 13,
        TRACE_E_BAD_LIVE = 14,
        TRACE_E_BAD_CHECKPOINT = 15,
        TRACE_E_BAD_INDEX = 16,
        TRACE_E_NO_INDEX = 17,
        TRACE_E_BAD_GAP = 18,
};
