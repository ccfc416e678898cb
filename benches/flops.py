"""Floating-point operations of a step: executed vector instructions of the kernels, counted by valgrind.

    cargo build --release && python3 benches/flops.py

Needs valgrind and objdump, and a processor without AVX-512 (valgrind has none). Counts are of lanes of four worlds; a fused
multiply-add counts as two operations, everything else as one, comparisons, selections and moves as none.
"""

import argparse
import collections
import json
import re
import subprocess
import tempfile

SCENE = "assets/scenes/hand_ball.toml"
OPERATION = re.compile(r"^v(fn?m(?:add|sub)\d+|add|sub|mul|div|sqrt|max|min)([ps])d$")
LANES = {"p": {"ymm": 4, "xmm": 2}, "s": {"ymm": 1, "xmm": 1}}


def weights(binary):
    """Operations of each instruction of the kernels for four worlds, by address, and each kernel's symbol."""
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-M", "intel", binary], capture_output=True, text=True, check=True)
    found, symbols, symbol = {}, {}, None
    for line in listing.stdout.splitlines():
        if head := re.match(r"^[0-9a-f]+ <(.*)>:$", line):
            symbol = head[1] if "run_four" in head[1] else None
        elif symbol and (match := re.match(r"^\s*([0-9a-f]+):\s+(\S+)\s+(\S.*)?$", line)):
            address = int(match[1], 16)
            symbols[address] = symbol
            if operation := OPERATION.match(match[2]):
                width = "ymm" if "ymm" in match[3] else "xmm"
                count = 2 if operation[1].startswith("f") else 1
                found[address] = count * LANES[operation[2]][width]
    return found, symbols


def executed(profile):
    """How often each instruction ran, and the kernels' calls by symbol."""
    names, counts, calls = {}, collections.Counter(), collections.Counter()
    address, called, skip = 0, None, False
    for line in open(profile):
        if match := re.match(r"c?fn=\((\d+)\) (.*)", line):
            names[match[1]] = match[2].strip()
        if match := re.match(r"cfn=\((\d+)\)", line):
            called = names[match[1]]
        elif match := re.match(r"calls=(\d+)", line):
            calls[called] += int(match[1])
            skip = True
        elif match := re.match(r"(0x[0-9a-f]+|[+-]\d+|\*) \S+ (\d+)", line):
            step = match[1]
            address = int(step, 16) if step.startswith("0x") else address + (0 if step == "*" else int(step))
            if not skip:
                counts[address] += int(match[2])
            skip = False
    return counts, calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/fingertip")
    parser.add_argument("--kappa", type=float, default=100.0)
    given = parser.parse_args()
    with tempfile.NamedTemporaryFile() as profile:
        subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile.name}", "--demangle=no", "--dump-instr=yes",
             given.binary, "bench", SCENE, "--with", json.dumps({"params": {"kappa": given.kappa}}), "--worlds", "64",
             "--threads", "1"],
            capture_output=True, check=True)
        counts, calls = executed(profile.name)
    operations, symbols = weights(given.binary)
    totals, instructions = collections.Counter(), collections.Counter()
    for address, n in counts.items():
        if address in symbols:
            totals[symbols[address]] += n * operations.get(address, 0)
            instructions[symbols[address]] += n
    print(f"{'kernel':60} {'calls':>8} {'flop per world':>15} {'instructions':>13}")
    for symbol in sorted(totals, key=lambda symbol: -totals[symbol]):
        n = 4 * calls[symbol]
        if n:
            print(f"{symbol[-60:]:60} {calls[symbol]:8} {totals[symbol] / n:15.0f} {instructions[symbol] / n:13.0f}")


if __name__ == "__main__":
    main()
