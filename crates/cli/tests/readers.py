"""Opens a recording with readers that are not ours and prints what they find, a line each; those that are not installed say so.

    python3 tests/readers.py run.mcap
    python3 tests/readers.py run.rrd
    python3 tests/readers.py run.csv
    python3 tests/readers.py run.npz
"""

import csv
import json
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from pathlib import Path


def mcap(path):
    """Every message by the package `mcap`, in the order of the index."""
    from mcap.reader import make_reader

    with open(path, "rb") as file:
        count = Counter(channel.topic for _, channel, _ in make_reader(file, validate_crcs=True).iter_messages())
    print("mcap:", ", ".join(f"{topic} {n}" for topic, n in sorted(count.items())))


def protobuf(path):
    """Foxglove's messages by the package `mcap-protobuf-support`, from the schemas in the file."""
    from mcap.reader import make_reader
    from mcap_protobuf.decoder import DecoderFactory

    frames, arrows, shapes = set(), 0, 0
    with open(path, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        topics = ["/tf", "/tf_static", "/shapes", "/contact_markers"]
        for _, channel, _, message in reader.iter_decoded_messages(topics=topics):
            if channel.topic.startswith("/tf"):
                for t in message.transforms:
                    size = t.rotation.x**2 + t.rotation.y**2 + t.rotation.z**2 + t.rotation.w**2
                    assert abs(size - 1) < 1e-6, t
                    frames.add(t.child_frame_id)
            for entity in getattr(message, "entities", []):
                arrows += len(entity.arrows)
                shapes += len(entity.spheres) + len(entity.cubes) + len(entity.cylinders) + len(entity.triangles)
    print(f"protobuf: {len(frames)} frames, arrows {arrows > 0}, shapes {shapes > 0}")


def rerun_program():
    """Where rerun's wheel has put its program."""
    program = Path(sysconfig.get_path("scripts")) / "rerun"
    if not program.exists():
        raise ImportError
    return program


def rerun(path):
    """rerun's own loader: the transforms that it makes of the file."""
    program = rerun_program()
    with tempfile.TemporaryDirectory() as folder:
        converted = f"{folder}/run.rrd"
        subprocess.run([program, "mcap", "convert", path, "-o", converted], check=True, capture_output=True)
        said = subprocess.run([program, "rrd", "print", "-vvv", converted], check=True, capture_output=True, text=True).stdout
    frames, column = set(), None
    for line in said.splitlines():
        cells = [cell.strip() for cell in line.split("┆")]
        if "Transform3D:child_frame" in cells:
            column = cells.index("Transform3D:child_frame")
        elif column is not None and len(cells) > column and re.fullmatch(r"\[[^\[\]]+\]", cells[column]):
            frames.add(cells[column][1:-1])
    print(f"rerun: {len(frames)} transforms: {', '.join(sorted(frames))}")


def rrd(path):
    """rerun's own file, loaded and written anew by rerun and verified: how many rows each entity has of what, and the last."""
    program = rerun_program()
    with tempfile.TemporaryDirectory() as folder:
        anew = f"{folder}/anew.rrd"
        subprocess.run([program, "rrd", "merge", path, "-o", anew], check=True, capture_output=True)
        subprocess.run([program, "rrd", "verify", anew], check=True, capture_output=True)
        said = subprocess.run([program, "rrd", "print", "-vvv", anew], check=True, capture_output=True, text=True).stdout
    tables, entity, columns = {}, None, None
    for line in said.splitlines():
        if begin := re.match(r"Chunk\(.*?\) with (\d+) rows \(.*?\) - (.*) - ", line):
            entity, columns = begin[2], None
        cells = [cell.strip(" │") for cell in line.split("┆")]
        if cells[0] == "RowId":
            columns = cells
        elif columns and cells[0].startswith("row_"):
            for name, cell in zip(columns, cells):
                if name != "RowId":
                    rows = tables.setdefault(entity, {}).setdefault(name, [0, None])
                    tables[entity][name] = [rows[0] + 1, cell]
    print("rrd:", json.dumps(tables))


def table(path):
    """Every cell of a table by the standard library, as a list of rows with names."""
    with open(path, newline="") as file:
        print("table:", json.dumps(list(csv.DictReader(file))))


def arrays(path):
    """Every array by numpy, which would have to be told to decode anything but numbers and strings."""
    import numpy as np

    with np.load(path, allow_pickle=False) as file:
        print("arrays:", json.dumps({name: np.where(file[name] == file[name], file[name], None).tolist() for name in file.files}))


READERS = {".rrd": [rrd], ".csv": [table], ".npz": [arrays]}
for reader in READERS.get(Path(sys.argv[1]).suffix, [mcap, protobuf, rerun]):
    try:
        reader(sys.argv[1])
    except ImportError:
        print(f"{reader.__name__}: not installed, skipped")
