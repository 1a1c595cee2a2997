/* Numbers to and from text without the locale. */
#ifndef LAMELLA_BASE_NUMBER_H
#define LAMELLA_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number in the grammar of JSON: [-] digits [. digits] [e [+-] digits], no leading zeros. */
struct number {
    double value;    /* correctly rounded; HUGE_VAL when it is beyond the range */
    bool is_integer; /* no fraction, no exponent, and magnitude holds it */
    bool is_negative;
    uint64_t magnitude;
};

/* Reads the number at the start of text. Returns the bytes it takes; 0 when there is none, or when
 * it breaks off behind a sign, a point or an exponent's sign. What follows the number is the
 * caller's to look at. */
size_t number_parse(const char *text, size_t length, struct number *number);

/* Turns the locale's decimal point in a text that printf wrote into a plain point. */
void number_fix_point(char *text);

#endif
