# Configure, build, test, and which files a verb is about.
# shellcheck shell=bash

# One version for all (packages.txt).
clang_format=clang-format-14
clang_tidy=clang-tidy-14

# So that a second checkout finds what the first one compiled.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

# Compilers at once: the cores, or fewer where each would have less than 1 GiB of memory.
cores() {
  local count memory
  count=$(nproc)
  memory=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
  memory=$((${memory:-1048576} / 1048576))
  if ((memory < count)); then count=$((memory > 0 ? memory : 1)); fi
  printf '%d\n' "$count"
}

# on_if FILE: ON or OFF, by whether the file is there.
on_if() { if [[ -e $1 ]]; then printf 'ON'; else printf 'OFF'; fi; }

# configure PRESET [-DNAME=VALUE...]: into build/PRESET. Tests and benchmarks are targets of the same build where their
# libraries are installed, so that no verb makes another one compile again.
configure() {
  local preset=$1 log=build/$1.configure.log
  shift
  have cmake || fail "there is no cmake" "install the packages named above"
  mkdir -p build
  if ! cmake --preset "$preset" "-DTRIREME_TESTS=$(on_if /usr/include/gtest/gtest.h)" \
    "-DTRIREME_BENCH=$(if [[ $preset == release ]]; then on_if /usr/include/benchmark/benchmark.h; else printf OFF; fi)" \
    "$@" > "$log" 2>&1; then
    cat "$log" >&2
    fail "CMake could not configure the preset '$preset' (above)" "repair that; ./dev clean starts afresh"
  fi
  sed -n 's/^-- \(trireme .*\)/\1/p' "$log"
}

# build PRESET TARGET...
build() {
  local preset=$1
  shift
  cmake --build "build/$preset" --parallel "$(cores)" --target "$@" ||
    fail "the build '$preset' failed (above)" "repair the first error; ./dev build TARGET builds one target"
}

# Results of a run: per stage a folder with what ctest and each GoogleTest program wrote.
results=build/results
start_results() {
  rm -rf "$results"
  mkdir -p "$results"
}

finish_results() { python3 tools/test_summary.py "$results"; }

# test_stage NAME PRESET TARGET [CTEST-OPTION...]: configures, builds the target, runs the tests that the options select.
# The first stage that fails ends the run.
test_stage() {
  local name=$1 preset=$2 target=$3 folder
  shift 3
  heading "tests: $name"
  configure "$preset" -DTRIREME_TESTS=ON
  build "$preset" "$target"
  folder=$root/$results/$(find "$results" -mindepth 1 -maxdepth 1 | wc -l)-$name
  mkdir -p "$folder"
  # die_after_fork: tests fork writers that are killed, and those make threads of their own.
  if ! GTEST_OUTPUT="xml:$folder/" UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=die_after_fork=0 fixed_addresses "$preset" \
    ctest --test-dir "build/$preset" --parallel "$(cores)" --output-on-failure --output-junit "$folder/ctest.xml" "$@"; then
    finish_results || true
    fail "tests failed in the stage '$name' (their output is above)" "one alone runs as build/$preset/NAME_test"
  fi
}

# fuzz_stage SECONDS: every fuzzer looks for inputs that fail, so long.
fuzz_stage() {
  configure fuzz "-DTRIREME_FUZZ_SECONDS=$1" > /dev/null
  test_stage "fuzz, ASan and UBSan" fuzz fuzzers -L '^fuzz$'
}

# fixed_addresses PRESET COMMAND...: sanitizers of older compilers do not stand kernels that scatter addresses widely
# (vm.mmap_rnd_bits above 28), so their programs run without scattering where the system allows it.
fixed_addresses() {
  local preset=$1
  shift
  if [[ $preset != release ]] && setarch -R true 2> /dev/null; then setarch -R "$@"; else "$@"; fi
}

# pick_sources [all|FILE...]: the C++ files meant, into the array `picked`; without arguments those that differ from main.
pick_sources() {
  local file base
  picked=()
  if (($# == 0)); then
    git rev-parse --is-inside-work-tree > /dev/null 2>&1 ||
      fail "this is not a git checkout, so what changed is unknown" "name files, or 'all'"
    base=$(merge_base)
    mapfile -t picked < <({
      git diff --name-only --diff-filter=d "$base" -- '*.h' '*.cpp'
      git ls-files --others --exclude-standard -- '*.h' '*.cpp'
    } | sort -u)
  elif [[ $* == all ]]; then
    mapfile -t picked < <(find src tests bench tools -name '*.h' -o -name '*.cpp' 2> /dev/null | sort)
  else
    for file in "$@"; do
      [[ -f $file ]] || usage "there is no file '$file'"
      picked+=("$file")
    done
  fi
}

# Where this branch left main; on main itself, what is not pushed; without either, the last commit.
merge_base() {
  local branch reference
  branch=$(git symbolic-ref --quiet --short HEAD || true)
  for reference in main origin/main; do
    if [[ $reference != "$branch" ]] && git merge-base HEAD "$reference" 2> /dev/null; then return; fi
  done
  git rev-parse HEAD
}

# units_of FILE...: the translation units of this build that show the findings in these files. A header is seen through its
# own source, its test, or the first file that includes it.
units_of() {
  local file unit
  for file in "$@"; do
    unit=$file
    if [[ $file == *.h ]]; then
      for unit in "${file%.h}.cpp" "${file%.h}_test.cpp" "$(grep -rl --include='*.cpp' "\"${file#src/}\"" src | sort | head -n 1)"; do
        [[ -f $unit ]] && break
      done
    fi
    if grep -qF "/$unit\"" build/release/compile_commands.json; then printf '%s\n' "$unit"; fi
  done | sort -u
}

# lint_unit FILE: silent unless clang-tidy has findings.
lint_unit() {
  local said
  said=$("$clang_tidy" -p build/release --quiet "$1" 2>&1) || {
    printf '%s\n' "$said"
    return 1
  }
}
export -f lint_unit
export clang_tidy
