# cmake -DROOT=src -DROOMS=a,b/c -DFOLDER=b/c -DTOOLS=compiler-and-flags -DVERSION=0.1.0 -DOUTPUT=build_id.cpp -P build_id.cmake
# Writes the source file of FOLDER/build_id.h, which names a build with a digest over what these rooms (or folders in them) are
# made of, and beside it OUTPUT.d, which lists what was read: files may come and go without a new configuration.
string(REPLACE "," ";" ROOMS "${ROOMS}")
set(digests "${TOOLS}\n")
set(read "")
foreach(room IN LISTS ROOMS)
  file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${ROOT} ${ROOT}/${room}/*.h ${ROOT}/${room}/*.cpp ${ROOT}/${room}/*.cu
                                                                  ${ROOT}/${room}/*.cuh ${ROOT}/${room}/CMakeLists.txt)
  list(FILTER files EXCLUDE REGEX "_test\\.cpp$|/testing/|/fuzz/")
  list(SORT files)
  foreach(file IN LISTS files)
    file(SHA256 ${ROOT}/${file} digest)
    string(APPEND digests "${file} ${digest}\n")
    string(REPLACE " " "\\ " escaped "${ROOT}/${file}")
    string(APPEND read " \\\n  ${escaped}")
  endforeach()
endforeach()
string(SHA256 id "${digests}")
string(SUBSTRING ${id} 0 16 id)
string(REPLACE "/" "::" space ${FOLDER})
file(WRITE ${OUTPUT} "#include \"${FOLDER}/build_id.h\"

namespace trireme::${space} {
const char* build_id() {
  return \"${VERSION}-${id}\";
}
}  // namespace trireme::${space}
")
string(REPLACE " " "\\ " escaped "${OUTPUT}")
file(WRITE ${OUTPUT}.d "${escaped}:${read}\n")
