#include "profile/faults.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

void profile_faults_add(struct profile_faults *faults, const char *text)
{
    faults->count++;
    if (faults->kept < PROFILE_FAULTS_KEPT)
        snprintf(faults->texts[faults->kept++], PROFILE_FAULT_BYTES, "%s", text);
}

void profile_faults_join(struct profile_faults *sum, const struct profile_faults *file, uint32_t most)
{
    uint64_t count = sum->count + file->count;
    for (uint32_t i = 0; i < file->kept && i < most; i++)
        profile_faults_add(sum, file->texts[i]);
    sum->count = count;
}

void profile_faults_text(const struct profile_faults *faults, const char *between, struct strbuf *out)
{
    for (uint32_t i = 0; i < faults->kept; i++) {
        strbuf_add(out, i ? between : "");
        strbuf_add_printable(out, faults->texts[i], strlen(faults->texts[i]));
    }
    if (faults->kept && faults->count > faults->kept)
        strbuf_addf(out, "%sand %s more", between, unit_count(faults->count - faults->kept).text);
}

void profile_damage_text(uint64_t damaged, uint64_t files, const char *what, struct strbuf *out)
{
    if (files == 1)
        strbuf_addf(out, "the %s could not be read whole", what);
    else if (damaged == files)
        strbuf_addf(out, "none of the %s %ss could be read whole", unit_count(files).text, what);
    else
        strbuf_addf(out, "%s of %s %ss could not be read whole", unit_count(damaged).text,
                    unit_count(files).text, what);
}
