#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the simulator without a network, from the crates that Debian's librust-tokio-dev installs.
#
#   examples/simulator/build.sh OUT      prints nothing; the program is OUT/simulator
set -eu
source=$(cd "$(dirname "$0")" && pwd)
out=$1
crates=/usr/share/cargo/registry
# Debian's own where there is one: its crates are built for it
cargo=/usr/bin/cargo
[ -x "$cargo" ] || cargo=cargo
[ ! -x /usr/bin/rustc ] || export RUSTC=/usr/bin/rustc

if [ ! -d "$crates" ]; then
        echo "silt: simulator: no crates in $crates: install cargo and librust-tokio-dev" >&2
        exit 1
fi
mkdir -p "$out/simulator.build"
out=$(cd "$out" && pwd)
cp "$source/Cargo.toml" "$source/simulator.rs" "$out/simulator.build"
cd "$out/simulator.build"
CARGO_HOME=$out/simulator.build/home CARGO_TARGET_DIR=$out/simulator.build/target \
        "$cargo" build --release --offline --quiet \
        --config 'source.crates-io.replace-with="debian"' \
        --config "source.debian.directory=\"$crates\""
# not into a file that may be running
cp target/release/simulator "$out/simulator.$$"
mv -f "$out/simulator.$$" "$out/simulator"
