#include "base/packed_out.h"

#include <errno.h>
#include <zstd.h>

#include "base/file.h"
#include "base/file_steps.h"
#include "base/gzip_blocks.h"
#include "base/memory.h"
#include "base/pool.h"

enum { CHUNK_BYTES = 1 << 16, ZSTD_LEVEL = 1 };

/* zstd beside whoever makes the bytes: two keep up with a writer on one core, and each takes 4 MB. Its frames are the same with
 * any number but none. */
enum { ZSTD_THREADS = 4 };

struct packed_out {
    int fd;
    int errnum; /* of the first failure that had one */
    enum packing packing;
    bool owns_file;
    struct file_steps steps; /* of a file that is ours */
    struct gzip_blocks *gzip;
    ZSTD_CStream *zstd;
    unsigned char chunk[CHUNK_BYTES];
};

enum packing packing_of(const char *name)
{
    if (text_ends_with(name, ".gz"))
        return PACKING_GZIP;
    return text_ends_with(name, ".zst") ? PACKING_ZSTD : PACKING_NONE;
}

static int write_all(struct packed_out *packed, const unsigned char *at, size_t length)
{
    if (packed->owns_file) {
        int rc = file_steps_write(&packed->steps, at, length);
        packed->errnum = packed->steps.errnum;
        return rc;
    }
    int errnum = file_write_bytes(packed->fd, at, length);
    if (!errnum)
        return LAM_OK;
    packed->errnum = errnum;
    return lam_code_from_errno(errnum);
}

static int take_gzip(void *ctx, const unsigned char *bytes, size_t length)
{
    return write_all(ctx, bytes, length);
}

static int write_zstd(struct packed_out *packed, const void *bytes, size_t length,
                      ZSTD_EndDirective flush)
{
    ZSTD_inBuffer in = {.src = bytes, .size = length};
    size_t left;
    do {
        ZSTD_outBuffer out = {.dst = packed->chunk, .size = CHUNK_BYTES};
        left = ZSTD_compressStream2(packed->zstd, &out, &in, flush);
        if (ZSTD_isError(left))
            return LAM_E_NOMEM;
        int rc = write_all(packed, packed->chunk, out.pos);
        if (rc < 0)
            return rc;
    } while (in.pos < in.size || (flush == ZSTD_e_end && left));
    return LAM_OK;
}

int packed_out_write(void *packed_ptr, const void *bytes, size_t length)
{
    struct packed_out *packed = packed_ptr;
    switch (packed->packing) {
    case PACKING_GZIP:
        return gzip_blocks_write(packed->gzip, bytes, length);
    case PACKING_ZSTD:
        return write_zstd(packed, bytes, length, ZSTD_e_continue);
    case PACKING_NONE:
        break;
    }
    return write_all(packed, bytes, length);
}

void packed_out_owns_file(struct packed_out *packed)
{
    file_steps_begin(&packed->steps, packed->fd, FILE_STEPS_CACHED_BYTES);
    packed->owns_file = true;
}

int packed_out_failure(const struct packed_out *packed, int rc, const char *name,
                       struct lam_error *err)
{
    if (packed->errnum)
        return lam_error_errno(err, packed->errnum, "%s", name);
    return lam_error_set(err, rc, "%s: %s", name, lam_code_text(rc));
}

bool packed_out_pipe_closed(const struct packed_out *packed)
{
    return packed->errnum == EPIPE;
}

int packed_out_finish(struct packed_out *packed, const char *name, struct lam_error *err)
{
    int rc = LAM_OK;
    if (packed->packing == PACKING_GZIP)
        rc = gzip_blocks_finish(packed->gzip);
    else if (packed->packing == PACKING_ZSTD)
        rc = write_zstd(packed, NULL, 0, ZSTD_e_end);
    if (rc >= 0 && packed->owns_file) {
        rc = file_steps_end(&packed->steps);
        packed->errnum = packed->steps.errnum;
    }
    return rc < 0 ? packed_out_failure(packed, rc, name, err) : LAM_OK;
}

int packed_out_open(struct packed_out **packed, int fd, enum packing packing, struct lam_error *err)
{
    struct packed_out *made = mem_zalloc(1, sizeof *made);
    if (!made)
        return lam_error_set(err, LAM_E_NOMEM, "output: out of memory");
    made->fd = fd;
    bool is_ready = true;
    if (packing == PACKING_GZIP)
        is_ready = gzip_blocks_open(&made->gzip, pool_default_threads(), take_gzip, made) == LAM_OK;
    if (packing == PACKING_ZSTD) {
        made->zstd = ZSTD_createCStream();
        is_ready =
            made->zstd &&
            !ZSTD_isError(ZSTD_CCtx_setParameter(made->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL));
        unsigned threads = pool_default_threads();
        if (made->zstd) /* refused by a libzstd without threads: then it is done here */
            (void)ZSTD_CCtx_setParameter(made->zstd, ZSTD_c_nbWorkers,
                                         threads < ZSTD_THREADS ? (int)threads : ZSTD_THREADS);
    }
    if (is_ready)
        made->packing = packing;
    *packed = made;
    if (is_ready)
        return LAM_OK;
    packed_out_close(packed);
    return lam_error_set(err, LAM_E_NOMEM, "output: out of memory");
}

void packed_out_close(struct packed_out **packed)
{
    if (!packed || !*packed)
        return;
    gzip_blocks_close(&(*packed)->gzip);
    ZSTD_freeCStream((*packed)->zstd);
    file_steps_free(&(*packed)->steps);
    mem_free(*packed);
    *packed = NULL;
}
