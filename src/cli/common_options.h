/* Options that several commands have, with the same words. Rows of a table of struct option_row. */
#ifndef LAMELLA_CLI_COMMON_OPTIONS_H
#define LAMELLA_CLI_COMMON_OPTIONS_H

#include "base/options.h"

#define OPTION_ROW_FORMAT(number, names)                                               \
    {                                                                                  \
        .long_name = "format", .short_name = 'f', .arg_name = "FORMAT",                \
        .help = "how it is printed [text]", .kind = OPTION_CHOICE, .target = (number), \
        .choices = (names)                                                             \
    }

/* letter: 0 where -m is another option's */
#define OPTION_ROW_MARKERS(letter, list)                                                       \
    {                                                                                          \
        .long_name = "markers", .short_name = (letter), .arg_name = "FILE",                    \
        .help = "more rules for phases, beside the built-in ones; may be given several times", \
        .kind = OPTION_LIST, .target = (list)                                                  \
    }

#endif
