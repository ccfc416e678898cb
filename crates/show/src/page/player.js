// Which frame is shown: playing, stopping, stepping, looping.

export class Player {
  constructor(track, live) {
    this.track = track;
    this.frame = 0;
    this.playing = live;
    this.speed = 1;
    this.loop = true;
    /** Does the page follow the newest frame? */
    this.live = live;
    this.clock = 0;
  }

  last() {
    return Math.max(0, this.track.length - 1);
  }

  seek(frame) {
    this.frame = Math.max(0, Math.min(this.last(), Math.round(frame)));
    this.clock = this.track.time(this.frame);
    if (this.live) this.playing = this.frame === this.last();
  }

  step(by) {
    this.playing = false;
    const frame = Math.max(0, Math.min(this.last(), this.frame + by));
    this.frame = frame;
    this.clock = this.track.time(frame);
  }

  toggle() {
    if (!this.playing && !this.live && this.frame === this.last()) this.seek(0);
    this.playing = !this.playing;
    this.clock = this.track.time(this.frame);
  }

  /** Some time goes by on the wall; says whether the frame changed. */
  advance(seconds) {
    const before = this.frame;
    if (this.live) {
      if (this.playing) this.frame = this.last();
      return this.frame !== before;
    }
    if (!this.playing || this.track.length < 2) return false;
    this.clock += this.speed * seconds;
    const end = this.track.time(this.last());
    if (this.clock >= end) {
      if (this.loop) this.clock = this.track.time(0);
      else [this.clock, this.playing] = [end, false];
    }
    this.frame = this.track.at(this.clock);
    return this.frame !== before;
  }
}
