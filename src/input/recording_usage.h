/* What each image used, from what the kernel charged to its process and to those it waited for. */
#ifndef LAMELLA_INPUT_RECORDING_USAGE_H
#define LAMELLA_INPUT_RECORDING_USAGE_H

#include "input/recording.h"

/* Fills usage, cpu_ns and tail_cpu_ns of all images. After lives and parents are known. LAM_OK or LAM_E_NOMEM. */
int recording_divide_usage(struct recording *rec);

/* What is known to be used by all images together. */
uint64_t recording_known_cpu_ns(const struct recording *rec);

#endif
