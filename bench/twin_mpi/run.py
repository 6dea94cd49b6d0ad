#!/usr/bin/env python3
"""MPI programs in virtual time beside SimGrid's SMPI: the same sources, ranks and shape of the fabric, in one table.

run.py --loom build/release/src/cli/loom [--ranks 256] [--rounds 3] [--only ring,halo] [--json FILE]
Without smpicc and smpirun (Debian: libsimgrid-dev): Loomband alone.
"""
import argparse, json, os, re, shutil, statistics, subprocess, sys, tempfile, time

SOURCES = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = {"iallreduce": ["8192", "2"], "ring": ["4096", "256"], "alltoall": ["1024", "1"], "halo": ["16", "100"]}

# A two-level fat tree without contention by itself: as many switches below as above, 12.5 GB/s and 100 ns a cable.
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="tree" prefix="node-" radical="0-{last}" suffix="" speed="100Gf" bw="12.5GBps" lat="100ns"
           loopback_bw="12.5GBps" loopback_lat="100ns" topology="FAT_TREE" topo_parameters="2;{k},{k};1,{k};1,1"/>
</platform>
"""


def run(command, folder, limit, environment=None):
    """Wall seconds, peak MiB of the largest process (None when it took too long), and what was printed."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                                 env={**os.environ, **(environment or {})})
        done = 0
        while not done and time.monotonic() - begin < limit:
            done, status, usage = os.wait4(child.pid, os.WNOHANG)
            if not done:
                time.sleep(0.002)
        wall = time.monotonic() - begin
        if not done:
            os.killpg(child.pid, 9)
            os.wait4(child.pid, 0)
            return wall, None, "given up"
        out.seek(0)
        text = out.read().decode(errors="replace")
        return wall, usage.ru_maxrss / 1024, text if status == 0 else "failed: " + text[-400:]


def predicted(text):
    match = re.search(r"^right (\S+)", text, re.M)
    return float(match.group(1)) if match else None


class Contestant:
    def __init__(self, name, compile_with, start, environment=None):
        self.name, self.compile_with, self.start, self.environment = name, compile_with, start, environment


def contestants(args, folder):
    loom = os.path.abspath(args.loom)
    side = round(args.ranks ** 0.5)
    if side * side != args.ranks:
        sys.exit("--ranks: expected a square, for the two-level tree")
    subprocess.run([loom, "fabric", "new", "kary", str(side), "2", "-o", "tree.json"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    ranks = ["-n", str(args.ranks)]
    compiled = [loom, "twin", "cc", "-O2"]
    # On a fabric no core is busy with a message, so small sums would go from everybody to everybody at once: not what
    # an MPI library does.
    chosen = {"LOOM_COLL": "allreduce=recursive-doubling"}
    found = [Contestant("message level", compiled, [loom, "twin", "run", "-q", *ranks, "--mpi"]),
             Contestant("flow level", compiled,
                        [loom, "twin", "run", "-q", *ranks, "--fabric", "tree.json", "--engine", "dmodk", "--level", "flow", "--mpi"],
                        chosen),
             Contestant("packet level", compiled,
                        [loom, "twin", "run", "-q", *ranks, "--fabric", "tree.json", "--engine", "dmodk", "--mpi"],
                        chosen)]
    if shutil.which("smpicc") and shutil.which("smpirun"):
        with open(os.path.join(folder, "tree.xml"), "w") as file:
            file.write(PLATFORM.format(last=args.ranks - 1, k=side))
        with open(os.path.join(folder, "hosts"), "w") as file:
            file.writelines(f"node-{i}\n" for i in range(args.ranks))
        # Computation takes no time here, nor there; the network is as it is delivered.
        found.append(Contestant("SMPI", ["smpicc", "-O2"],
                                ["smpirun", "-np", str(args.ranks), "-platform", "tree.xml", "-hostfile", "hosts",
                                 "--log=root.thres:error", "--cfg=smpi/simulate-computation:no"]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loom", required=True)
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--limit", type=float, default=600, help="seconds for one run")
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        who = contestants(args, folder)
        for program in args.only.split(","):
            seen = {each.name: [] for each in who}
            for each in who:
                binary = f"{program}-{each.compile_with[0].split('/')[-1]}"
                subprocess.run([*each.compile_with, os.path.join(SOURCES, program + ".c"), "-o", binary, "-lm"],
                               cwd=folder, check=True)
            for i in range(args.rounds):
                for each in who[i % len(who):] + who[:i % len(who)]:
                    binary = "./" + f"{program}-{each.compile_with[0].split('/')[-1]}"
                    seen[each.name].append(run([*each.start, binary, *PROGRAMS[program]], folder, args.limit,
                                               each.environment))
            for each in who:
                memory = [one[1] for one in seen[each.name] if one[1] is not None]
                rows.append({"program": program, "who": each.name,
                             "wall": statistics.median(one[0] for one in seen[each.name]),
                             "mib": statistics.median(memory) if memory else None,
                             "predicted": predicted(seen[each.name][-1][2]),
                             "remark": "" if predicted(seen[each.name][-1][2]) else seen[each.name][-1][2].strip()})
    peer = {row["program"]: row for row in rows if row["who"] == "SMPI"}
    print(f"{'program':<12}{'':<15}{'wall s':>9}{'MiB':>8}{'predicted':>13}{'wall ratio':>12}{'MiB ratio':>11}")
    for row in rows:
        its = peer.get(row["program"])
        ratios = ""
        if its:
            less = "<" if its["remark"] == "given up" else ""
            ratios = f"{less + format(row['wall'] / its['wall'], '.4f'):>12}"
            ratios += f"{row['mib'] / its['mib']:>11.3f}" if its["mib"] and row["mib"] else f"{'-':>11}"
        mib = f"{row['mib']:.1f}" if row["mib"] else "-"
        time_text = f"{row['predicted'] * 1e3:.3f} ms" if row["predicted"] else "-"
        print(f"{row['program']:<12}{row['who']:<15}{row['wall']:>9.3f}{mib:>8}{time_text:>13}{ratios} {row['remark'][:200]}")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
