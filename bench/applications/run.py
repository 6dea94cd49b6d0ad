#!/usr/bin/env python3
"""Eleven MPI applications (Open MPI, 4 ranks) with and without libloom-mpi, interleaved, in one table.

run.py --built FOLDER --rounds 7 --preload build/release/lib/libloom-mpi-openmpi.so --report
FOLDER has the programs as README.md builds them. Without --preload: the applications alone.
--env goes to the ranks of the runs WITH the preload only (mpirun -x).
"""
import argparse, glob, json, os, re, shutil, signal, statistics, subprocess, sys, tempfile, time

SOURCES = os.path.dirname(os.path.abspath(__file__))
TIME, RATE = "time", "rate"  # less is better, more is better
N = r"([-+0-9.eE]+)"


class App:
    def __init__(self, name, folder, command, figures, check, files=(), same=None, tolerance=0.0):
        self.name, self.folder, self.command, self.figures = name, folder, command, figures
        self.check = check          # must be found, else the run counts as failed
        self.files = files          # copied into the scratch folder
        self.same, self.tolerance = same, tolerance  # a number of the result that must not change


APPS = [
    App("melt", "lammps", "lmp -in {sources}/in.melt -log none", [("time", "s", TIME, r"Loop time of " + N)],
        r"Total wall time", same=r"\n +300 +\S+ +\S+ +\S+ +" + N, tolerance=1e-6),
    App("pppm", "lammps", "lmp -in {sources}/in.pppm -log none", [("time", "s", TIME, r"Loop time of " + N)],
        r"Total wall time", same=r"\n +100 +\S+ +\S+ +\S+ +" + N, tolerance=1e-6),
    App("pppm-collective", "lammps", "lmp -in {sources}/in.pppm -log none -var collective yes -var steps 50",
        [("time", "s", TIME, r"Loop time of " + N)],
        r"Total wall time", same=r"\n +50 +\S+ +\S+ +\S+ +" + N, tolerance=1e-6),
    App("hpccg", "hpccg", "{here}/hpccg/hpccg 64 64 64",
        [("total", "Mflop/s", RATE, r"MFLOPS Summary: *\n *Total *: *" + N),
         ("ddot", "s", TIME, r"DDOT *: *" + N)],
        r"Final residual", same=r"Number of iterations: *(\d+)"),
    App("minife", "minife", "{here}/minife/miniFE.x -nx 80 -ny 80 -nz 80",
        [("cg", "s", TIME, r"Total CG Time: *" + N), ("dot", "s", TIME, r"DOT Time: *" + N),
         ("program", "s", TIME, r"Total Program Time: *" + N)],
        r"Total Program Time", same=r"Iterations: *(\d+)"),
    App("amg", "amg", "{here}/amg/amg -P 2 2 1 -n 48 48 48 -problem 1",
        [("fom", "FOM", RATE, r"Figure of Merit \(FOM_1\): *" + N),
         ("solve", "FOM", RATE, r"FOM_Solve:.*: *" + N), ("setup", "FOM", RATE, r"FOM_Setup:.*: *" + N)],
        r"Figure of Merit", same=r"Iterations = *(\d+)"),
    App("fftw", "fftw", "{here}/fftw/fft3d 128 60 {here}/fftw/wisdom", [("time", "s", TIME, r"time=" + N)], r"correct"),
    App("pipecg", "petsc", "{here}/petsc/pipecg -n 200 -its 5000", [("time", "s", TIME, r"time=" + N)],
        r"pipecg n=\d+ iterations=\d+"),
    App("mumps", "mumps", "{here}/mumps/laplace 30 6",
        [("time", "s", TIME, r" time=" + N), ("factor", "s", TIME, r"factor=" + N)], r"correct"),
    App("pblas", "pblas", "{here}/pblas/pdgemm 1500 20", [("time", "s", TIME, r"time=" + N)], r"correct"),
    App("lu", "lu", "{here}/lu/pdgetrf 2000 6", [("time", "s", TIME, r"time=" + N)], r"correct"),
    App("hpcc", "hpcc", "hpcc",
        [("MPIFFT", "Gflop/s", RATE, r"MPIFFT_Gflops=" + N), ("HPL", "Tflop/s", RATE, r"HPL_Tflops=" + N),
         ("PTRANS", "GB/s", RATE, r"PTRANS_GBs=" + N),
         ("MPIRandomAccess", "GUP/s", RATE, r"MPIRandomAccess_GUPs=" + N)],
        r"Success=1", files=("hpccinf.txt",)),
]


def children(pid):
    """All descendants, deepest last."""
    parents = {}
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            words = open(stat).read().rsplit(")", 1)[1].split()
            parents.setdefault(int(words[1]), []).append(int(stat.split("/")[2]))
        except OSError:
            pass
    found, queue = [], [pid]
    while queue:
        for child in parents.get(queue.pop(), []):
            found.append(child)
            queue.append(child)
    return found


def stop(process, options):
    ours = children(process.pid)
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        pass
    for pid in [process.pid] + ours:
        try:
            if pid == process.pid or options.scratch in os.readlink(f"/proc/{pid}/cwd"):
                os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    process.wait()


def run(app, options, preload):
    """{'figures': {...}, 'same': x, 'wall': s, 'failure': None or text, 'report': ...}"""
    os.makedirs(options.scratch, exist_ok=True)
    folder = tempfile.mkdtemp(prefix=app.name + ".", dir=options.scratch)
    for name in app.files:
        shutil.copy(os.path.join(SOURCES, name), folder)
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    for name in list(environment):
        if name.startswith("LOOM_") or name == "LD_PRELOAD":
            del environment[name]
    command = ["mpirun.openmpi", "--oversubscribe", "-n", str(options.ranks)] + options.mpirun.split()
    if preload:
        command += ["-x", "LD_PRELOAD=" + options.preload]
        for pair in options.env:
            command += ["-x", pair]
        if options.report:
            command += ["-x", "LOOM_MPI_REPORT=" + os.path.join(folder, "loom-report.json")]
    command += app.command.format(here=options.built, sources=SOURCES).split()
    out = open(os.path.join(folder, "stdout+stderr"), "wb")
    start = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                               stderr=subprocess.STDOUT, start_new_session=True)
    failure = None
    try:
        process.wait(options.timeout)
        if process.returncode:
            failure = f"exit status {process.returncode}"
    except subprocess.TimeoutExpired:
        failure = f"HANG: not done after {options.timeout} s"
        stop(process, options)
    except KeyboardInterrupt:
        stop(process, options)
        raise
    wall = time.monotonic() - start
    out.close()
    text = ""
    for name in ["stdout+stderr", "hpccoutf.txt"] + sorted(
            os.path.basename(path) for path in glob.glob(os.path.join(folder, "*.yaml"))):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            text += open(path, errors="replace").read() + "\n"
    figures = {}
    for label, _, _, pattern in app.figures:
        if match := re.search(pattern, text):
            figures[label] = float(match[1])
    if failure is None and not re.search(app.check, text):
        failure = "wrong or missing result"
    if failure is None and len(figures) != len(app.figures):
        failure = "figures missing: " + ", ".join(f[0] for f in app.figures if f[0] not in figures)
    match = re.search(app.same, text) if app.same else None
    result = {"figures": figures, "same": float(match[1]) if match else None, "wall": wall, "failure": failure}
    report = os.path.join(folder, "loom-report.json")
    if os.path.exists(report):
        try:
            result["report"] = json.load(open(report))
        except ValueError:
            result["report"] = None
    if failure is None and not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        result["folder"] = folder
    return result


def speed(direction, without, with_):
    return without / with_ if direction == TIME else with_ / without


def number(x):
    return f"{x:.4g}"


def table(options, chosen, rounds):
    rows = [("app", "figure", "unit", "n", "without", "with", "speed", "median of rounds", "min..max", "notes")]
    for app in chosen:
        notes = []
        pairs = rounds[app.name]
        for side, label in ((0, "without"), (1, "with")):
            failures = [pair[side]["failure"] for pair in pairs if pair[side] and pair[side]["failure"]]
            if failures:
                notes.append(f"{label}: {len(failures)} failed ({'; '.join(sorted(set(failures)))})")
        good = [r["same"] for pair in pairs for r in pair if r and not r["failure"] and r["same"] is not None]
        if good and max(good) - min(good) > app.tolerance * max(abs(x) for x in good):
            notes.append(f"RESULT DIFFERS: {min(good)}..{max(good)}")
        collectives = max([r["report"].get("collectives", 0) for pair in pairs for r in pair[1:]
                           if r and r.get("report")], default=0)
        shares = [r["report"].get("share_taken_over") for pair in pairs for r in pair[1:]
                  if r and r.get("report")]
        shares = [share for share in shares if share is not None]
        if shares:
            notes.append(f"taken over {100 * statistics.median(shares):.1f} % of {collectives} collectives")
        for label, unit, direction, _ in app.figures:
            value = [[r["figures"][label] if r and not r["failure"] else None for r in pair] for pair in pairs]
            a = [v[0] for v in value if v[0] is not None]
            b = [v[1] for v in value if v[1] is not None]
            both = [speed(direction, v[0], v[1]) for v in value if None not in v and v[0] and v[1]]
            ma, mb = (statistics.median(x) if x else None for x in (a, b))
            rows.append((app.name, label, unit + (" (less)" if direction == TIME else ""), str(len(both) or len(a)),
                         number(ma) if a else "-", number(mb) if b else "-",
                         f"{speed(direction, ma, mb):.3f}" if ma and mb else "-",
                         f"{statistics.median(both):.3f}" if both else "-",
                         f"{min(both):.3f}..{max(both):.3f}" if both else "-", ", ".join(notes)))
            notes = []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def main():
    names = [app.name for app in APPS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--apps", default=",".join(n for n in names if n != "pppm-collective"), help="of: " + ",".join(names))
    parser.add_argument("--preload", help="library for the ranks of the runs with it; without: no such runs")
    parser.add_argument("--env", action="append", nargs="+", default=[], metavar="KEY=VAL",
                        help="for the ranks of the runs with the preload; can be given again")
    parser.add_argument("--report", action="store_true", help="ask for the account (LOOM_MPI_REPORT), print the share")
    parser.add_argument("--ranks", type=int, default=4, help="AMG, PBLAS, LU and HPCC need 4")
    parser.add_argument("--mpirun", default="", help="more arguments of mpirun, for both sides")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--built", required=True, metavar="FOLDER", help="where README.md has put the programs")
    parser.add_argument("--scratch", help="for the runs; FOLDER/scratch if not given")
    parser.add_argument("--keep", action="store_true", help="keep the folders of good runs too")
    parser.add_argument("--out", help="all single results as JSON")
    parser.add_argument("--quiet", action="store_true", help="no line per run")
    options = parser.parse_args()
    options.built = os.path.abspath(options.built)
    options.scratch = os.path.abspath(options.scratch or os.path.join(options.built, "scratch"))
    options.env = [pair for group in options.env for pair in group]
    for pair in options.env:
        if "=" not in pair:
            parser.error(f"--env {pair}: KEY=VAL wanted")
    if options.preload:
        options.preload = os.path.abspath(options.preload)
        if not os.path.exists(options.preload):
            parser.error(f"no such file: {options.preload}")
    wanted = options.apps.split(",")
    if unknown := set(wanted) - set(names):
        parser.error("unknown: " + ", ".join(sorted(unknown)))
    chosen = [app for app in APPS if app.name in wanted]
    rounds = {app.name: [] for app in chosen}
    try:
        for i in range(options.rounds):
            for app in chosen:
                pair = [None, None]
                order = [0] if not options.preload else [0, 1] if i % 2 == 0 else [1, 0]
                rounds[app.name].append(pair)
                for side in order:
                    pair[side] = r = run(app, options, side == 1)
                    if not options.quiet:
                        values = " ".join(f"{k}={number(v)}" for k, v in r["figures"].items())
                        print(f"round {i + 1} {app.name:7} {'with   ' if side else 'without'} wall={r['wall']:.1f} s "
                              f"{values}{' FAILED: ' + r['failure'] + ' in ' + r['folder'] if r['failure'] else ''}",
                              file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    print(table(options, chosen, rounds))
    if options.out:
        json.dump({"options": vars(options), "load": os.getloadavg(), "rounds": rounds}, open(options.out, "w"), indent=1)


main()
