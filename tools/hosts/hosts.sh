#!/usr/bin/env bash
# Hosts for tests on one machine: network namespaces, with addresses of their own, on one bridge. Processes and files are shared,
# the network is not. Needs root and ip (iproute2); tc where a rate is given.
#
#   hosts.sh up NAME COUNT [RATE]             hosts NAME-1 to NAME-COUNT; RATE of each link, as in 1gbit
#   hosts.sh down NAME                        ends what runs there, and takes the hosts away
#   hosts.sh mpirun NAME COUNT EACH COMMAND.. Open MPI's mpirun on NAME-1: EACH ranks on each host, over TCP
#   hosts.sh apart NAME COUNT COMMAND..        like mpirun COUNT 1, but the network for data does not connect the hosts
#   hosts.sh on NAME HOST COMMAND...          a command on a host, by its number
#   hosts.sh kill NAME HOST                   SIGKILL for all that runs there
#   hosts.sh cut NAME HOST                    takes its cable out; mend: puts it in again
set -euo pipefail

self=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/${BASH_SOURCE[0]##*/}
network=10.77.0
data=$network

fail() {
  printf 'hosts: %s\n' "$1" >&2
  exit 1
}

# Room for a burst of large frames; what is more waits up to 50 ms.
limit_rate() {
  ip netns exec "$1" tc qdisc add dev "$2" root tbf rate "$3" burst 256kb latency 50ms
}

# A connection to who is gone breaks within seconds (keepalive, below) only where nothing is under way on it; else Linux sends that
# again for a quarter of an hour. Four times are six seconds.
give_up_soon() {
  ip netns exec "$1" sh -c 'echo 4 > /proc/sys/net/ipv4/tcp_retries2'
}

verb_up() {
  local name=$1 count=$2 rate=${3:-} host
  ip netns add "$name-switch"
  ip -n "$name-switch" link add bridge type bridge
  ip -n "$name-switch" link set bridge up
  for ((host = 1; host <= count; ++host)); do
    ip netns add "$name-$host"
    ip -n "$name-$host" link add eth0 type veth peer name "port$host" netns "$name-switch"
    ip -n "$name-switch" link set "port$host" master bridge up
    ip -n "$name-$host" addr add "$network.$host/24" dev eth0
    ip -n "$name-$host" link set eth0 up
    ip -n "$name-$host" link set lo up
    give_up_soon "$name-$host"
    if [[ -n $rate ]]; then
      limit_rate "$name-$host" eth0 "$rate"
      limit_rate "$name-switch" "port$host" "$rate"
    fi
  done
}

# The namespaces of these hosts.
namespaces() {
  ip netns list | sed -n "s/^\($1-\([0-9]*\|switch\)\)\( .*\)\?$/\1/p"
}

verb_down() {
  local space
  for space in $(namespaces "$1"); do
    ip netns pids "$space" | xargs --no-run-if-empty kill -KILL 2> /dev/null || true
    ip netns del "$space"
  done
}

verb_mpirun() {
  local name=$1 count=$2 each=$3 host list=''
  shift 3
  for ((host = 1; host <= count; ++host)); do list+=${list:+,}$network.$host:$each; done
  # Open MPI starts a daemon on each other host by what it takes for ssh. Everything goes over the bridge. The daemons ask
  # each other whether they are still there: a cable that is cut is seen within seconds.
  exec ip netns exec "$name-1" mpirun --allow-run-as-root --oversubscribe --bind-to none -H "$list" -n $((count * each)) \
    --mca plm rsh --mca plm_rsh_agent "$self agent $name" --mca plm_rsh_no_tree_spawn 1 \
    --mca orte_keep_fqdn_hostnames 1 --mca oob_tcp_if_include "$network.0/24" \
    --mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3 \
    --mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include "$data.0/24" "$@"
}

# Links that lead nowhere: what is sent there is not refused, it gets no answer.
verb_apart() {
  local name=$1 count=$2 host
  shift 2
  data=10.78.0
  for ((host = 1; host <= count; ++host)); do
    ip -n "$name-$host" link show data &> /dev/null && continue
    ip -n "$name-$host" link add data arp off type veth peer name "data$host" netns "$name-switch"
    ip -n "$name-switch" link set "data$host" up
    ip -n "$name-$host" addr add "$data.$host/24" dev data
    ip -n "$name-$host" link set data up
  done
  verb_mpirun "$name" "$count" 1 "$@"
}

# In the place of ssh: [OPTION...] ADDRESS COMMAND...
verb_agent() {
  local name=$1 address
  shift
  while [[ $1 == -* ]]; do shift; done
  address=$1
  shift
  exec ip netns exec "$name-${address##*.}" bash -c "$*"
}

verb_on() {
  local name=$1 host=$2
  shift 2
  exec ip netns exec "$name-$host" "$@"
}

verb_kill() {
  ip netns pids "$1-$2" | xargs --no-run-if-empty kill -KILL
}

verb_cut() { ip -n "$1-switch" link set "port$2" down; }
verb_mend() {
  ip -n "$1-switch" link set "port$2" up
  for _ in {1..50}; do
    if ip -n "$1-$2" link show eth0 | grep -q 'state UP'; then break; fi
    sleep 0.1
  done
  # Whom nobody could find is looked for again.
  local space
  for space in $(namespaces "$1"); do ip -n "$space" neigh flush all; done
}

(($# >= 2)) && declare -F "verb_$1" > /dev/null || fail "how it is called stands at the top of $self"
((EUID == 0)) || fail "only root makes network namespaces"
verb=$1
shift
"verb_$verb" "$@"
