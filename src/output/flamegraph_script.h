/* What a flame graph can do in a browser: plain JavaScript, put into the file as it is. */
#ifndef LAMELLA_OUTPUT_FLAMEGRAPH_SCRIPT_H
#define LAMELLA_OUTPUT_FLAMEGRAPH_SCRIPT_H

/* Fits into a CDATA section. No name of a profile is ever part of it: it reads them from the document, as text. */
extern const char flamegraph_script[];
extern const char flamegraph_style[];

#endif
