#!/usr/bin/env bash
# A Slurm of one host, started by hand, to try batch files with. Needs root and Debian's slurm-wlm, slurm-wlm-basic-plugins, munge.
#
#   slurm.sh up FOLDER       daemons with their state in FOLDER; then: export SLURM_CONF=FOLDER/slurm.conf
#   slurm.sh down FOLDER     ends them, and waits until they have ended
set -euo pipefail

fail() {
  printf 'slurm: %s\n' "$1" >&2
  exit 1
}

munge=/run/munge/munged.pid

# Slurm's daemons trust each other by munge, which has a key and a daemon of its own. One that runs already is left alone.
start_munge() {
  [[ -f /etc/munge/munge.key ]] || mungekey --create
  install -d -o munge -g munge /run/munge
  chown munge:munge /etc/munge/munge.key
  chmod 400 /etc/munge/munge.key
  munge -n > /dev/null 2>&1 && return
  runuser -u munge -- munged --pid-file="$munge"
  ln -sf "$munge" "$1/munged.pid"
}

verb_up() {
  local folder host
  local port=$((20000 + $$ % 5000 * 2)) # beside another Slurm
  mkdir -p "$1/state" "$1/spool"
  folder=$(cd -- "$1" && pwd)
  host=$(hostname -s)
  getent hosts "$host" > /dev/null || printf '127.0.0.1 %s\n' "$host" >> /etc/hosts
  start_munge "$folder"
  cat > "$folder/slurm.conf" << CONF
ClusterName=trial
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=2000 State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
  slurmctld -f "$folder/slurm.conf"
  slurmd -f "$folder/slurm.conf"
  export SLURM_CONF=$folder/slurm.conf
  for _ in {1..40}; do
    if sinfo --noheader --format=%T 2> /dev/null | grep -q idle; then
      printf 'export SLURM_CONF=%s\n' "$SLURM_CONF"
      return
    fi
    sleep 0.5
  done
  fail "the host does not become idle; see $folder/slurmctld.log and slurmd.log"
}

verb_down() {
  local file pid
  for file in "$1/slurmd.pid" "$1/slurmctld.pid" "$1/munged.pid"; do
    [[ -f $file ]] || continue
    pid=$(< "$file")
    kill "$pid" 2> /dev/null || continue
    for _ in {1..100}; do
      kill -0 "$pid" 2> /dev/null || break
      sleep 0.1
    done
  done
}

(($# == 2)) && declare -F "verb_$1" > /dev/null || fail "how it is called stands at the top of this file"
((EUID == 0)) || fail "only root starts Slurm's daemons"
"verb_$1" "$2"
