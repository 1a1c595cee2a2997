# Writes OUT: a C file with HEAD and TAIL, the two halves of the page, for src/output/page_template.h. Without HEAD it says
# that there is no page.
function(array name file out)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  set(${out} "static const unsigned char ${name}[] = {\n    ${bytes}};\n\n" PARENT_SCOPE)
endfunction()

set(text "/* Made by cmake/embed_page.cmake from page/. */\n#include \"output/page_template.h\"\n\n")
if(HEAD)
  array(head ${HEAD} head)
  array(tail ${TAIL} tail)
  string(APPEND text "${head}${tail}const struct page_template lam_page_template = {head, sizeof head, tail, sizeof tail};\n")
else()
  string(APPEND text "const struct page_template lam_page_template = {0, 0, 0, 0};\n")
endif()
file(WRITE ${OUT} "${text}")
