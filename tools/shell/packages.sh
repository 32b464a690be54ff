# Packages: what packages.txt lists and this machine lacks is installed with apt.
# shellcheck shell=bash

# listed SECTION...: the packages of these sections, one a line.
listed() {
  local line section='' wanted=" $* "
  while read -r line; do
    case $line in
      '' | '#'*) ;;
      '['*']') section=${line:1:-1} ;;
      *) if [[ $wanted == *" $section "* ]]; then printf '%s\n' "$line"; fi ;;
    esac
  done < packages.txt | sort -u
}

# missing NAME...: those that dpkg does not know as installed.
missing() {
  local name
  local -A installed=()
  while read -r name; do installed[$name]=1; done \
    < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2> /dev/null | sed -n 's/ installed$//p')
  for name in "$@"; do
    if [[ -z ${installed[$name]:-} ]]; then printf '%s\n' "$name"; fi
  done
}

# The manual is documentation, which container images tell dpkg to leave out: then the package is there without its pages.
keep_manual=(-o 'DPkg::Options::=--path-include=/usr/share/doc/postgresql-doc*')

apt() {
  local command=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@")
  if ((EUID)); then
    # Without a terminal nobody can type a password.
    if [[ -t 0 ]]; then command=(sudo "${command[@]}"); else command=(sudo -n "${command[@]}"); fi
  fi
  "${command[@]}" < /dev/null >> build/packages.log 2>&1
}

# The lists of a fresh machine are empty, and old ones name files that are gone: fetched only then.
apt_install() {
  mkdir -p build
  : > build/packages.log
  if apt-get --simulate install --no-install-recommends "$@" > /dev/null 2>&1; then
    apt install -y --no-install-recommends "${keep_manual[@]}" "$@" && return
  fi
  apt update && apt install -y --no-install-recommends "${keep_manual[@]}" "$@" && return
  tail -n 20 build/packages.log >&2
  fail "apt could not install: $* (all it said is in build/packages.log)" "repair that, then run ./dev again"
}

# install_packages SECTION...: says what it installs; silent when all is there.
install_packages() {
  local section names lacking start=$SECONDS
  for section in "$@"; do
    grep -qx "\[$section\]" packages.txt || usage "packages.txt has no section '$section'"
  done
  mapfile -t names < <(listed "$@")
  if ! have apt-get || ! have dpkg-query; then
    printf 'note: this is not Debian or Ubuntu, so nothing is installed; needed are, by their names there: %s\n' "${names[*]}"
    return
  fi
  mapfile -t lacking < <(missing "${names[@]}")
  local reinstall=()
  if [[ " $* " == *' corpus '* ]] && have python3 && [[ " ${lacking[*]} " != *' postgresql-doc '* ]] &&
    ! python3 tools/corpus.py --check 2> /dev/null; then
    mapfile -t lacking < <(printf '%s\n' "${lacking[@]}" "$(manual_package)" | sed '/^$/d')
    reinstall=(--reinstall)
  fi
  ((${#lacking[@]})) || return 0
  if ((EUID)) && ! have sudo; then
    fail "packages are missing, and this is neither root nor a user with sudo" \
      "as root, run: apt-get install --no-install-recommends ${lacking[*]}"
  fi
  printf 'installing, with what they need: %s\n' "${lacking[*]}"
  apt_install "${reinstall[@]}" "${lacking[@]}"
  printf 'installed in %s\n' "$(duration $((SECONDS - start)))"
}

# The package that the metapackage postgresql-doc stands for, as in postgresql-doc-15.
manual_package() {
  dpkg-query -W -f '${Depends}\n' postgresql-doc | sed -n 's/.*\(postgresql-doc-[0-9]*\).*/\1/p'
}
