# cmake -DROOT=src -DROOMS=a,b -DTOOLS=compiler-and-flags -DVERSION=0.1.0 -DOUTPUT=build_id.cpp -P build_id.cmake
# Writes the source file that names a build: a digest over what these rooms are made of.
string(REPLACE "," ";" ROOMS "${ROOMS}")
set(digests "${TOOLS}")
foreach(room IN LISTS ROOMS)
  file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${ROOT} ${ROOT}/${room}/*.h ${ROOT}/${room}/*.cpp ${ROOT}/${room}/*.cu
                                                                  ${ROOT}/${room}/*.cuh)
  list(FILTER files EXCLUDE REGEX "_test\\.cpp$|/testing/|/fuzz/")
  list(SORT files)
  foreach(file IN LISTS files)
    file(SHA256 ${ROOT}/${file} digest)
    string(APPEND digests "${file} ${digest}\n")
  endforeach()
endforeach()
string(SHA256 id "${digests}")
string(SUBSTRING ${id} 0 16 id)
file(WRITE ${OUTPUT}.new "#include \"plugin/build_id.h\"

namespace trireme::plugin {
const char* build_id() {
  return \"${VERSION}-${id}\";
}
}  // namespace trireme::plugin
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
