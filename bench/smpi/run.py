#!/usr/bin/env python3
"""SMPI beside the machine: collectives.c under mpirun.openmpi and, after a calibration, under smpirun.

    bench/smpi/run.py [--ranks 2] [--rounds 41] [--loom here.json]

Needs libsimgrid-dev and openmpi-bin. The platform is two hosts and a link. Its latency, bandwidth and SMPI's own terms
(os, or: what a call costs; the thresholds of eager and detached sends; lat-factor and bw-factor by size) come from a ping-pong on
this machine, as SimGrid's manual wants it. --loom sets what `loom measure coll --json` said beside it.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

SIZES = [8, 256, 4096, 65536, 1 << 20, 4 << 20]
PING = [1, 64, 512, 2048, 8192, 32768, 131072, 524288, 2097152, 8388608]


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout


def mpirun(ranks, *command):
    return run(["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), *command])


def median_of(runs):
    """Cells by (operation, bytes): the median over runs of the program."""
    times = {}
    for text in runs:
        for line in text.splitlines():
            words = line.split()
            if len(words) == 3:
                times.setdefault((words[0], int(words[1])), []).append(float(words[2]))
    return {key: sorted(values)[len(values) // 2] for key, values in times.items()}


def calibrate(program, rounds):
    """SMPI's settings from half round trips in us by bytes."""
    samples = {}
    for _ in range(3):
        for line in mpirun(2, program, "pingpong", str(rounds), *map(str, PING)).splitlines():
            bytes_, way, sending = line.split()
            samples.setdefault(int(bytes_), []).append((float(way), float(sending)))
    way = {b: sorted(v)[len(v) // 2][0] for b, v in samples.items()}
    sending = {b: sorted(v)[len(v) // 2][1] for b, v in samples.items()}
    latency = way[1] * 1e-6 / 2  # the other half are the calls
    bandwidth = 8388608 / (way[8388608] * 1e-6)
    overhead = way[1] * 1e-6 / 4
    factors = []
    for bytes_ in PING[1:]:
        wire = max(way[bytes_] * 1e-6 - latency - 2 * overhead, 1e-9)
        factors.append((bytes_, bytes_ / wire / bandwidth))
    bw = ";".join(f"{b // 2}:{f:.4f}" for b, f in factors)
    constant = f"0:{overhead:.3e}:0"
    return latency, bandwidth, [f"--cfg=smpi/os:{constant}", f"--cfg=smpi/or:{constant}", f"--cfg=smpi/ois:{constant}",
                                f"--cfg=smpi/bw-factor:{bw}", "--cfg=smpi/lat-factor:0:1",
                                "--cfg=network/TCP-gamma:0", "--cfg=smpi/async-small-thresh:4096",
                                "--cfg=smpi/send-is-detached-thresh:4096"], way, sending


def platform(folder, ranks, latency, bandwidth):
    hosts = "".join(f'<host id="h{i}" speed="10Gf"/>' for i in range(ranks))
    links, routes = "", ""
    for i in range(ranks):
        for j in range(i + 1, ranks):
            links += f'<link id="l{i}-{j}" bandwidth="{bandwidth:.0f}Bps" latency="{latency:.3e}s" sharing_policy="SPLITDUPLEX"/>'
            routes += (f'<route src="h{i}" dst="h{j}" symmetrical="NO"><link_ctn id="l{i}-{j}" direction="UP"/></route>'
                       f'<route src="h{j}" dst="h{i}" symmetrical="NO"><link_ctn id="l{i}-{j}" direction="DOWN"/></route>')
        links += f'<link id="s{i}" bandwidth="{bandwidth:.0f}Bps" latency="{latency:.3e}s" sharing_policy="FATPIPE"/>'
        routes += f'<route src="h{i}" dst="h{i}"><link_ctn id="s{i}"/></route>'
    path = os.path.join(folder, "platform.xml")
    with open(path, "w") as out:
        out.write('<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
                  f'<platform version="4.1"><zone id="all" routing="Full">{hosts}{links}{routes}</zone></platform>')
    with open(os.path.join(folder, "hosts"), "w") as out:
        out.write("".join(f"h{i}\n" for i in range(ranks)))
    return path, os.path.join(folder, "hosts")


def error_of(cells):
    return sum(abs(math.log(cell["ratio"])) for cell in cells) / len(cells)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--selector", default="ompi", help="SMPI's choice of algorithms")
    parser.add_argument("--loom", help="what loom measure coll --json printed")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "collectives.c")
    with tempfile.TemporaryDirectory() as folder:
        real, simulated = os.path.join(folder, "real"), os.path.join(folder, "simulated")
        run(["mpicc.openmpi", "-O2", "-DNO_NEIGHBOURS", source, "-o", real])
        run(["smpicc", "-O2", "-DNO_NEIGHBOURS", source, "-o", simulated])
        latency, bandwidth, settings, way, _ = calibrate(real, options.rounds)
        sizes = [str(size) for size in SIZES]
        measured = median_of(mpirun(options.ranks, real, str(options.rounds), *sizes) for _ in range(options.runs))
        xml, hosts = platform(folder, options.ranks, latency, bandwidth)
        said = run(["smpirun", "-np", str(options.ranks), "-platform", xml, "-hostfile", hosts, *settings,
                    f"--cfg=smpi/coll-selector:{options.selector}", "--cfg=smpi/simulate-computation:no",
                    "--cfg=smpi/display-timing:no", "--log=root.thres:critical", simulated, "5", *sizes])
        predicted = median_of([said])
    cells = [{"operation": operation, "bytes": bytes_, "measured_us": time, "predicted_us": predicted[operation, bytes_],
              "ratio": predicted[operation, bytes_] / time}
             for (operation, bytes_), time in measured.items() if predicted.get((operation, bytes_), 0) > 0]
    answer = {"ranks": options.ranks, "latency_us": latency * 1e6, "bandwidth_bytes_per_s": bandwidth,
              "settings": settings, "pingpong_us": way, "cells": cells, "mean_log_error": error_of(cells),
              "geometric_mean": math.exp(sum(math.log(c["ratio"]) for c in cells) / len(cells))}
    if options.loom:
        with open(options.loom) as kept:
            for group in json.load(kept)["groups"]:
                if group["ranks"] == options.ranks:
                    names = {c["operation"] for c in cells}
                    ours = [c for c in group["cells"] if c["operation"] in names]
                    answer["loom_mean_log_error"] = error_of(ours)
    if options.json:
        print(json.dumps(answer))
        return
    for cell in cells:
        print(f"{cell['operation']:<22}{cell['bytes']:>9}{cell['measured_us']:>12.2f}{cell['predicted_us']:>12.2f}{cell['ratio']:>8.2f}")
    print(f"SMPI: {len(cells)} cells, geometric mean {answer['geometric_mean']:.3f}, mean |log ratio| {answer['mean_log_error']:.3f}"
          + (f"; loom {answer['loom_mean_log_error']:.3f}" if "loom_mean_log_error" in answer else ""))


main()
