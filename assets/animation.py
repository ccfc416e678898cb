"""Makes assets/hand_turn.webp, the moving picture at the top of the README, from a page of the demo's recording.

    cargo run --release && cargo run --release -- view out/hand_turn.mcap --html out/hand_turn.html
    python3 assets/animation.py out/hand_turn.html assets/hand_turn.webp

Needs the package pillow, and chromium with chromedriver. `gallery.py` makes the others.
"""

import base64
import contextlib
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
CAMERA = {"yaw": 0.75, "pitch": 0.22, "target": [0.12, 0.03, -0.1], "distance": 0.52}

PREPARE = """
if (fingertip.theme.colours.name === 'dark') fingertip.theme.toggle();
fingertip.player.playing = false;
for (const id of ['title', 'views', 'panel', 'inspector', 'plots']) document.getElementById(id).hidden = true;
Object.assign(document.querySelector('footer').style, { top: '101%', bottom: 'auto' });
const { camera } = fingertip;
Object.assign(camera, { lift: 0, side: 0, free: 1, size: [innerWidth, innerHeight] });
Object.assign(camera.goal, arguments[0] ?? camera.home());
camera.now = { ...camera.goal };
camera.named = null;
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


def start(width, height):
    """A session in a window of twice the picture's size."""
    size = f"--window-size={2 * width},{2 * height}"
    arguments = ["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars", size]
    options = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}}
    for _ in range(50):
        try:
            return "/session/" + call("POST", "/session", options)["sessionId"]
        except OSError:
            time.sleep(0.2)
    raise SystemExit("chromedriver does not answer")


@contextlib.contextmanager
def browser(width, height):
    """A browser for pictures of this size, in pixels."""
    driver = subprocess.Popen(["chromedriver", f"--port={PORT}"], stdout=subprocess.DEVNULL)
    try:
        session = start(width, height)
        yield session
        call("DELETE", session)
    finally:
        driver.terminate()


def film(session, page, out, *, size, rate, seconds, until=None, camera=None, quality=72, fineness=2.0):
    """Writes a page's run, up to a time `until` or whole, as a moving picture of so many frames a second; `seconds` says
    how long it takes for a run of a length. It is drawn `fineness` times as large."""
    window = {"width": 2 * size[0], "height": 2 * size[1], "deviceScaleFactor": fineness / 2, "mobile": False}
    call("POST", f"{session}/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": window})
    call("POST", f"{session}/url", {"url": Path(page).resolve().as_uri()})
    run = lambda script, *args: call("POST", f"{session}/execute/sync", {"script": script, "args": list(args)})
    n, length = run(PREPARE, camera)
    last = (n - 1) * min(1.0, (until or length) / length)
    count = round(seconds(length) * rate)
    images = []
    for k in range(count):
        run(SHOW, round(k * last / (count - 1)))
        shot = base64.b64decode(call("GET", f"{session}/screenshot"))
        images.append(Image.open(io.BytesIO(shot)).convert("RGB").resize(size, Image.LANCZOS))
    # The end stays for a second.
    pause = [1000 // rate] * (count - 1) + [1000]
    images[0].save(out, save_all=True, append_images=images[1:], duration=pause, loop=0, quality=quality, method=6)
    print(f"{out}: {count} frames, {Path(out).stat().st_size / 1024:.0f} KiB", flush=True)


def main(page, out):
    with browser(WIDTH, HEIGHT) as session:
        film(session, page, out, size=(WIDTH, HEIGHT), rate=RATE, seconds=lambda _: SECONDS, until=SECONDS, camera=CAMERA)


if __name__ == "__main__":
    main(*sys.argv[1:])
