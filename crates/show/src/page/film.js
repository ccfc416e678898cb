// A replay as a video: the drawing is recorded while it plays once.

import { save } from "fingertip/plot";

/** Frames a second, and bits a second. */
const [RATE, BITS] = [30, 8e6];
/** The most time between two pictures of a replay, seconds. */
const STEP = 2 / RATE;
const KINDS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"];

export class Film {
  constructor(page, button) {
    Object.assign(this, { page, button });
    this.recorder = null;
  }

  /** Begins at the start of the replay, or ends what is under way. */
  toggle() {
    if (this.recorder) return this.end();
    const { page } = this;
    const canvas = page.view.canvas;
    const kind = window.MediaRecorder && canvas.captureStream && KINDS.find((kind) => MediaRecorder.isTypeSupported(kind));
    if (!kind) return page.say("This browser cannot record a video (WebM). Current versions of Chromium and Firefox can.");
    const pieces = [];
    this.recorder = new MediaRecorder(canvas.captureStream(RATE), { mimeType: kind, videoBitsPerSecond: BITS });
    this.recorder.addEventListener("dataavailable", ({ data }) => data.size && pieces.push(data));
    this.recorder.addEventListener("stop", () => {
      this.recorder = null;
      this.show();
      if (!pieces.length) return page.say("The video is empty: the replay was over before a picture of it was recorded. Play it more slowly.");
      save(`${page.header.scene.scene}.webm`, new Blob(pieces, { type: "video/webm" }));
    });
    this.recorder.addEventListener("error", ({ error }) => page.say(`The video ended early: ${error?.message ?? "unknown error"}.`));
    this.loop = page.player.loop;
    page.player.loop = false;
    page.seek(0);
    page.player.playing = true;
    this.recorder.start(500);
    this.show();
  }

  end() {
    this.page.player.loop = this.loop;
    if (this.recorder.state !== "inactive") this.recorder.stop();
  }

  /** The time by which the replay goes on: where drawing is slow the video is longer, and lacks nothing. */
  pace(seconds) {
    return this.recorder ? Math.min(seconds, STEP) : seconds;
  }

  /** A frame has been drawn: the replay may be over. */
  drawn() {
    if (this.recorder?.state === "recording" && !this.page.player.playing) this.end();
  }

  show() {
    this.button.setAttribute("aria-pressed", Boolean(this.recorder));
    this.button.textContent = this.recorder ? "■ Video" : "Video";
  }
}
