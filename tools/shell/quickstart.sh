# ./dev quickstart: the whole path once, each step with its command. A step that is done stays done: it is run again when
# its settings or what it reads changed.
# shellcheck shell=bash

quickstart_help() {
  cat << 'HELP'
usage: ./dev quickstart [--minutes M] [--again] [...]

From a bare machine to a small GPT that writes: installs packages, builds, makes a corpus of English (PostgreSQL's manual),
trains a tokenizer and a GPT on it, prints samples. Everything it makes is in out/quickstart; a second run only repeats
what changed.

  --minutes M     train for about M minutes on this machine (default 3)
  --iterations N  train N iterations instead, for the same result on every machine
  --again         forget what earlier runs made
  --short         a tiny model and a part of the corpus, in out/quickstart-short: all steps within a minute
  --output FOLDER where to make everything
  --program FILE  use this trireme instead of installing packages and building one
HELP
}

quickstart() {
  quickstart_options "$@"
  if [[ $again == yes ]]; then rm -rf "$out"; fi
  mkdir -p "$out/steps"
  if [[ -z $program ]]; then
    program=build/release/trireme
    step '' "Packages" install_packages build corpus
    step '' "Build" build_program
  fi
  vocabulary=(--vocab-file "$out/tokenizer/vocab.json" --merge-file "$out/tokenizer/merges.txt")

  needs=(tools/corpus.py) makes=("$out/corpus.jsonl")
  step corpus "Corpus: PostgreSQL's manual as plain text" make_corpus "$pages"

  needs=("$out/corpus.jsonl") makes=("$out/tokenizer/vocab.json" "$out/tokenizer/merges.txt")
  step tokenizer "Tokenizer: byte pairs that occur often become tokens" train_tokenizer "$vocabulary_size"

  needs=("$out/corpus.jsonl" "${makes[@]}") makes=("$out/corpus_text_document.bin" "$out/corpus_text_document.idx")
  step dataset "Dataset: text to token ids" preprocess

  needs=("$config" "${makes[@]}") makes=("$out/checkpoints/latest_checkpointed_iteration.txt" "$out/metrics.jsonl" "$out/loss.svg")
  step training "Training" train "$length" "${model[@]}"

  step '' "Samples" sample
  say_times
  say_next
}

# Sets what the steps read: settings of the usual or the short run, changed by the arguments.
quickstart_options() {
  config=examples/quickstart.toml
  program='' out='' again=no short=no length='' model=() needs=() makes=() times=()
  local option
  while (($#)); do
    option=$1
    case $option in
      --help | -h) quickstart_help && exit 0 ;;
      --again) again=yes ;;
      --short) short=yes ;;
      --minutes | --iterations | --output | --program)
        (($# > 1)) || usage "$option needs a value"
        shift
        case $option in
          --output) out=${1%/} ;;
          --program) program=$1 ;;
          *)
            [[ $1 =~ ^[1-9][0-9]{0,5}$ ]] || usage "$option takes a whole number from 1, not '$1'"
            [[ -z $length ]] || usage "--minutes and --iterations are two ways to say one thing; give one"
            length=${option#--}=$1
            ;;
        esac
        ;;
      *) usage "quickstart has no option '$option'; ./dev quickstart --help lists them" ;;
    esac
    shift
  done
  if [[ $short == yes ]]; then
    out=${out:-out/quickstart-short} margin=0 pages=200 vocabulary_size=1024 length=${length:-iterations=500}
    model=(--num-layers 2 --hidden-size 128 --num-attention-heads 4 --seq-length 128 --eval-interval 100)
  else
    out=${out:-out/quickstart} margin=0 pages=0 vocabulary_size=2048
    [[ -n $length ]] || margin=1  # nats that the usual three minutes are good for
    length=${length:-minutes=3}
  fi
}

# step NAME TITLE FUNCTION [ARGUMENT...]: runs the function, or says that it was done before: with these arguments, after all
# of `needs` were written, and `makes` are there. A step without a name runs always.
step() {
  local name=$1 title=$2 start=$SECONDS file
  shift 2
  heading "$((${#times[@]} + 1))  $title"
  if [[ -n $name ]] && done_before "$out/steps/$name" "$*"; then
    printf 'done before: %s\n' "${makes[*]}"
    times+=("0|${title%%:*} (done before)")
    return
  fi
  "$@"
  if [[ -n $name ]]; then
    for file in "${makes[@]}"; do
      [[ -s $file ]] || fail "the step '$title' did not write $file" "this is a defect of trireme; please report it"
    done
    printf '%s\n' "$*" > "$out/steps/$name"
  fi
  times+=("$((SECONDS - start))|${title%%:*}")
}

done_before() {
  local stamp=$1 file
  [[ -f $stamp && $(< "$stamp") == "$2" ]] || return 1
  for file in "${makes[@]}"; do [[ -s $file ]] || return 1; done
  for file in "${needs[@]}"; do [[ $file -nt $stamp ]] && return 1; done
  return 0
}

# run COMMAND...: shows it and runs it.
run() {
  printf '%s$ %s%s\n' "$dim" "$(quoted "$@")" "$plain"
  "$@" || fail "this command failed with status $?, see above: $(quoted "$@")" "steps that are done are kept: run ./dev quickstart again"
}

# Words as one would type them; a long command goes on in the next line before an option.
quoted() {
  local word line='' option='' lines=''
  for word in "$@" --; do
    if [[ $word == --* ]]; then
      if ((${#line} + ${#option} > 100)); then
        lines+="${line# } \\"$'\n    '
        line=''
      fi
      line+=$option
      option=''
      [[ $word != -- ]] || break
    fi
    [[ $word =~ ^[A-Za-z0-9_./=,:+-]+$ ]] || word="'${word//\'/\'\\\'\'}'"
    option+=" $word"
  done
  printf '%s' "$lines${line# }"
}

build_program() {
  configure release
  build release trireme
}

make_corpus() { run python3 tools/corpus.py --output "$out/corpus.jsonl" --pages "$1"; }

train_tokenizer() {
  run "$program" tokenizer train --input "$out/corpus.jsonl" --json-keys text --vocab-size "$1" --output "$out/tokenizer"
}

preprocess() {
  run "$program" preprocess --input "$out/corpus.jsonl" --output-prefix "$out/corpus" "${vocabulary[@]}" --append-eod
}

# train LENGTH [OPTION...]: LENGTH as in minutes=3 or iterations=500.
train() {
  local length=$1 iterations=${1#*=}
  shift
  local command=("$program" train --config "$config" --data-path "$out/corpus_text_document" "${vocabulary[@]}" "$@")
  rm -rf "$out/checkpoints"
  if [[ $length == minutes=* ]]; then
    iterations=$(iterations_in "${length#*=}" "${command[@]}") || exit
    printf 'this machine does about %d iterations in %d min\n' "$iterations" "${length#*=}"
  fi
  run "${command[@]}" --train-iters "$iterations" --save "$out/checkpoints" --metrics-file "$out/metrics.jsonl" \
    --loss-curve-file "$out/loss.svg"
  run python3 tools/learned.py "$out/metrics.jsonl" "$margin"
}

# iterations_in MINUTES COMMAND...: how many iterations last that long, by trying twelve.
iterations_in() {
  local minutes=$1 log=$out/pace.log milliseconds
  shift
  "$@" --train-iters 12 --log-interval 6 --eval-iters 0 > "$log" 2>&1 || {
    cat "$log" >&2
    fail "training does not start, see above" "repair that and run ./dev quickstart again"
  }
  milliseconds=$(sed -n 's/.*elapsed time per iteration (ms): *\([0-9]*\).*/\1/p' "$log" | tail -n 1)
  [[ -n $milliseconds ]] || fail "the log of training names no time per iteration: $log" "this is a defect of trireme; please report it"
  printf '%d\n' $((minutes * 60000 / (milliseconds > 0 ? milliseconds : 1)))
}

sample() {
  local prompt
  for prompt in "To create a table" "The query planner" "A transaction is"; do
    run "$program" generate --load "$out/checkpoints" --prompt "$prompt" --num-tokens 80 --temperature 0.8 --top-p 0.95
    printf '\n'
  done
}

say_times() {
  local entry total=0
  heading "Time"
  for entry in "${times[@]}"; do
    printf '  %-28s %s\n' "${entry#*|}" "$(duration "${entry%%|*}")"
    total=$((total + ${entry%%|*}))
  done
  printf '  %-28s %s\n' "together" "$(duration "$total")"
}

say_next() {
  heading "What to do next"
  say_command "See how it learned: $out/loss.svg and $out/metrics.jsonl. Another sample:" \
    "$program" generate --load "$out/checkpoints" --prompt "An index" --seed 7
  say_command "How well it predicts the pages that were held out, in bits per byte:" \
    "$program" evaluate --load "$out/checkpoints" --part validation
  say_command "Train for longer, or a larger model (edit $config first):" ./dev quickstart --minutes 15 --output out/longer
  say_command "Your own text, a line of JSON a document:" \
    "$program" preprocess --input yours.jsonl --output-prefix out/yours "${vocabulary[@]}" --append-eod
  say_command "What a step holds and computes, before it runs:" \
    "$program" train --config "$config" --data-path "$out/corpus_text_document" "${vocabulary[@]}" --dry-run
  say_command "Every option:" "$program" train --help
}

# say_command WORDS COMMAND...
say_command() {
  printf '%s\n' "$1"
  shift
  printf '  %s\n' "$(quoted "$@")"
}
