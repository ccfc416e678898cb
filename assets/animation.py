"""Makes assets/hand_turn.webp, the moving picture at the top of the README, from a page of the demo's recording.

    cargo run --release && cargo run --release -- view out/hand_turn.mcap --html out/hand_turn.html
    python3 assets/animation.py out/hand_turn.html assets/hand_turn.webp

Needs the package pillow, and chromium with chromedriver.
"""

import base64
import io
import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from PIL import Image

PORT = 9517
# Frames a second, and how long the picture goes on: the rest of the run is holding.
RATE, SECONDS = 12, 4.0
# Pixels; drawn at twice the size.
WIDTH, HEIGHT = 560, 400

PREPARE = """
if (fingertip.theme.colours.name === 'dark') fingertip.theme.toggle();
fingertip.player.playing = false;
for (const id of ['title', 'views', 'panel', 'inspector', 'plots']) document.getElementById(id).hidden = true;
Object.assign(document.querySelector('footer').style, { top: '101%', bottom: 'auto' });
const { goal } = fingertip.camera;
Object.assign(goal, { yaw: 0.75, pitch: 0.22, target: [0.12, 0.03, -0.1], distance: 0.52 });
fingertip.camera.now = { ...goal };
fingertip.camera.named = null;
fingertip.view.soft = true;
fingertip.adapt = () => fingertip.view.setLevel(0);
return [fingertip.track.length, fingertip.track.time(fingertip.track.length - 1)];
"""
SHOW = "fingertip.seek(arguments[0]); fingertip.view.setLevel(0); fingertip.draw();"


def call(method, path, body=None):
    """What chromedriver answers."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["value"]


def start():
    """A session in a window of the picture's size."""
    size = f"--window-size={2 * WIDTH},{2 * HEIGHT}"
    arguments = ["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars", size]
    options = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}}
    for _ in range(50):
        try:
            return "/session/" + call("POST", "/session", options)["sessionId"]
        except OSError:
            time.sleep(0.2)
    raise SystemExit("chromedriver does not answer")


def main(page, out):
    driver = subprocess.Popen(["chromedriver", f"--port={PORT}"], stdout=subprocess.DEVNULL)
    try:
        session = start()
        call("POST", f"{session}/url", {"url": Path(page).resolve().as_uri()})
        run = lambda script, *args: call("POST", f"{session}/execute/sync", {"script": script, "args": list(args)})
        n, seconds = run(PREPARE)
        count = round(SECONDS * RATE)
        images = []
        for k in range(count):
            run(SHOW, round(k / RATE * (n - 1) / seconds))
            shot = base64.b64decode(call("GET", f"{session}/screenshot"))
            images.append(Image.open(io.BytesIO(shot)).convert("RGB").resize((WIDTH, HEIGHT), Image.LANCZOS))
        # The end stays for a second.
        pause = [1000 // RATE] * (count - 1) + [1000]
        images[0].save(out, save_all=True, append_images=images[1:], duration=pause, loop=0, quality=72, method=6)
        print(f"{out}: {count} frames, {Path(out).stat().st_size / 1024:.0f} KiB")
        call("DELETE", session)
    finally:
        driver.terminate()


if __name__ == "__main__":
    main(*sys.argv[1:])
