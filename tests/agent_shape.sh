#!/usr/bin/env bash
# The preloaded object is what a stranger's program can bear: it needs libc alone, starts first, binds at once, has no
# sanitizer in it, and refers to nothing that allocates or prints. (dl_iterate_phdr is called outside of handlers, where
# libc has no _dl_find_object.)
set -euo pipefail
failed=0
complain() { echo "agent_shape: $*" >&2; failed=1; }

dynamic=$(readelf -dW "$LAMELLA_AGENT_SO")
needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic" | grep -vxE 'libc\.so\.6|ld-linux-x86-64\.so\.2|ld-linux-aarch64\.so\.1' || true)
[ -z "$needed" ] || complain "needs $needed"
grep -q 'FLAGS_1.*NOW.*INITFIRST' <<<"$dynamic" || complain "is not linked with -z now and -z initfirst"
! grep -q TEXTREL <<<"$dynamic" || complain "has relocations in its code"
readelf -lW "$LAMELLA_AGENT_SO" | grep -q 'GNU_STACK.* RW ' || complain "wants an executable stack"
readelf -lW "$LAMELLA_AGENT_SO" | grep -q 'GNU_EH_FRAME' || complain "has no unwind table"

undefined=$(nm -D --undefined-only "$LAMELLA_AGENT_SO" | awk '{ sub(/@.*/, "", $NF); print $NF }')
banned='malloc|calloc|realloc|free|posix_memalign|aligned_alloc|strdup|asprintf|printf|fprintf|vfprintf|sprintf|snprintf|vsnprintf'
banned+='|puts|fputs|fwrite|fopen|fclose|perror|exit|dlsym|dlvsym|dlopen|__tls_get_addr|__stack_chk_fail'
banned+='|pthread_mutex_.*|pthread_once|__asan.*|__ubsan.*|__tsan.*|.*_chk'
found=$(grep -xE "$banned" <<<"$undefined" || true)
[ -z "$found" ] || complain "refers to" "$found"
exit "$failed"
