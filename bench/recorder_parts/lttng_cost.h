/* The events of lttng_cost.c, in the form that LTTng's header wants: read more than once. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER lamella_cost
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_cost.h"
#if !defined(LTTNG_COST_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_COST_H
#include <lttng/tracepoint.h>
/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(lamella_cost, begin, LTTNG_UST_TP_ARGS(int, label),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, label, label)))
LTTNG_UST_TRACEPOINT_EVENT(lamella_cost, end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
/* clang-format on */
#endif
#include <lttng/tracepoint-event.h>
