# What all verbs of ./dev use: words to the user, the list of verbs.
# shellcheck shell=bash

if [[ -t 1 ]]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; else bold='' dim='' plain=''; fi

heading() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# fail WHAT REMEDY: what happened and what the user can do about it.
fail() {
  printf 'error: dev: %s; %s\n' "$1" "$2" >&2
  exit 1
}

usage() {
  printf 'error: dev: %s; ./dev lists the verbs\n' "$1" >&2
  exit 2
}

# duration SECONDS, as in "1 min 05 s".
duration() {
  if (($1 < 60)); then printf '%d s' "$1"; else printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); fi
}

have() { command -v "$1" > /dev/null; }

# matches NAME [PART...]: whether NAME contains one of the parts, or there are none.
matches() {
  local name=$1 part
  shift
  (($#)) || return 0
  for part in "$@"; do [[ $name == *"$part"* ]] && return 0; done
  return 1
}

list_verbs() {
  printf 'usage: ./dev VERB [...]\n\n'
  local line
  while IFS= read -r line; do
    printf '  %-22s %s\n' "${line%% | *}" "${line#* | }"
  done < <(sed -n 's/^#: //p' dev)
}

# edits A B: the fewest letters to insert, delete or replace to make B of A.
edits() {
  local a=$1 b=$2 i j best
  local -a above row
  for ((j = 0; j <= ${#b}; j++)); do above[j]=$j; done
  for ((i = 1; i <= ${#a}; i++)); do
    row=("$i")
    for ((j = 1; j <= ${#b}; j++)); do
      best=$((above[j - 1] + 1))
      if [[ ${a:i-1:1} == "${b:j-1:1}" ]]; then best=${above[j - 1]}; fi
      if ((above[j] + 1 < best)); then best=$((above[j] + 1)); fi
      if ((row[j - 1] + 1 < best)); then best=$((row[j - 1] + 1)); fi
      row[j]=$best
    done
    above=("${row[@]}")
  done
  printf '%d\n' "${above[${#b}]}"
}

unknown_verb() {
  local verb nearest='' distance fewest=1000
  while IFS= read -r verb; do
    distance=$(edits "$1" "$verb")
    if ((distance < fewest)); then fewest=$distance nearest=$verb; fi
  done < <(sed -n 's/^verb_\([a-z]*\)() {$/\1/p' dev)
  usage "there is no verb '$1'; the nearest is '$nearest'"
}
