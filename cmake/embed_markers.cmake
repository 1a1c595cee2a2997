# Writes OUT: a C file with the text of each of FILES, for src/phase/builtin_markers.h.
set(arrays "")
set(rows "")
set(count 0)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(SIZE ${file} size)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "static const unsigned char text_${count}[] = {\n    ${bytes}0x00};\n\n")
  string(APPEND rows "    {\"${name}\", (const char *)text_${count}, ${size}},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUT} "/* Made by cmake/embed_markers.cmake from markers/. */
#include \"phase/builtin_markers.h\"

${arrays}const struct marker_file lam_builtin_markers[] = {
${rows}    {0, 0, 0},
};

const size_t lam_builtin_markers_count = ${count};
")
