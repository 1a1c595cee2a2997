/* From the linker's names to names for people: C++ (Itanium), Rust legacy and Rust v0. */
#ifndef LAMELLA_SYMBOLS_DEMANGLE_H
#define LAMELLA_SYMBOLS_DEMANGLE_H

#include <stddef.h>

#include "base/strbuf.h"

enum symbol_language {
    SYMBOL_LANGUAGE_PLAIN, /* C, assembly, or not understood: the full name is the raw name */
    SYMBOL_LANGUAGE_CPP,
    SYMBOL_LANGUAGE_RUST,
};

enum {
    DEMANGLE_MAX_INPUT = 16384,  /* longer names stay as they are */
    DEMANGLE_MAX_OUTPUT = 65536, /* names that expand beyond this stay as they are */
};

/* Appends the demangled form of a linker name: without Rust's hashes and without ".llvm.N"; other
 * clone suffixes follow as " [clone .cold]" and "@plt" stays. A name that is not mangled, is
 * damaged, or would take too much room or time (a few milliseconds) is appended as it is. Time,
 * stack and output are bounded whatever the name. Inside demangle_threads() this is fast; elsewhere
 * each mangled name costs the start of a thread, since a deep name needs more stack than a caller
 * may have.
 * Threads: any. Memory that is short shows in full->failed. */
enum symbol_language demangle_name(const char *name, size_t length, struct strbuf *full);

/* Appends the short form of a full name as demangle_name() gives it (or another demangler): what
 * people and marker patterns call the function. No hash, no generic arguments, no parameters, no
 * return type, no clone suffix:
 *
 *   rustc_span::with::<u32>                                    rustc_span::with
 *   <rustc_span::symbol::Symbol>::intern                       rustc_span::symbol::Symbol::intern
 *   <alloc::vec::Vec<T> as core::ops::Drop>::drop      <alloc::vec::Vec as core::ops::Drop>::drop
 *   <[T]>::sort_by::<F>                                        <[T]>::sort_by
 *   a::f::<T>::{closure#0}::{closure#1}                        a::f::{closure#0}::{closure#1}
 *   <a::f<T>::{closure#0} as FnOnce<()>>::call_once::{shim:vtable#0}
 *                                 <a::f::{closure#0} as FnOnce>::call_once::{shim:vtable#0}
 *   void llvm::sort<T*>(T*, T*)                                llvm::sort
 *   std::enable_if<(A)>(3), int>::type ns::f<A>(A) const       ns::f
 *   (anonymous namespace)::P::run(llvm::Function&)             (anonymous namespace)::P::run
 *   main::{lambda(int)#1}::operator()(int) const               main::{lambda#1}::operator()
 *   std::ostream& operator<< <char>(std::ostream&, char)       operator<<
 *   S::operator std::vector<int>() const                       S::operator std::vector
 *   non-virtual thunk to A::f()                                A::f
 *   A::f(int) [clone .part.0] [clone .cold]                    A::f
 *   _ZN4llvm1XIiTnNSt… (newer than the demangler)              llvm::X
 *   memcpy@@GLIBC_2.14                                         memcpy
 *   malloc@plt                                                 malloc@plt
 *
 * `language` as demangle_name() said. Never recurses; time is linear in the length; a name whose
 * brackets do not match gives a shorter name or itself, never nothing. */
void symbol_short_name(enum symbol_language language, const char *full, size_t length,
                       struct strbuf *short_name);

/* The language of a name that somebody else demangled, from its looks. */
enum symbol_language symbol_language_guess(const char *full, size_t length);

/* Runs fn for items 0 … count - 1, each once, on `threads` threads (0: one a processor) with the
 * room that demangling needs, and returns when all have ended. `worker` is the index of the thread.
 * A negative code from fn skips the items not yet begun and is returned. Where the system refuses
 * such threads the items run on this one, and names that would need more room than there is stay
 * mangled. */
int demangle_threads(unsigned threads, size_t count,
                     int (*fn)(void *ctx, size_t item, unsigned worker), void *ctx);

#endif
