// Play, pause and scrub; the figures of the current frame.

const element = (id) => document.getElementById(id);
const FRAMES_PER_SECOND = 60;

class Player {
  constructor(run) {
    this.run = run;
    this.canvas = element("picture");
    this.picture = run.dim === 2 ? new Plane(this.canvas, run) : new Space(this.canvas, run);
    this.frame = 0;
    this.drawn = 0;  // number of drawings, for tests
    this.playing = false;
    this.speed = 1;
    this.last = 0;
    this.share = 0;
    element("title").textContent = run.title;
    element("scrub").max = Math.max(0, run.frames - 1);
    this.listen();
    this.resize();
  }

  listen() {
    element("play").addEventListener("click", () => this.toggle());
    element("speed").addEventListener("change", (event) => { this.speed = Number(event.target.value); });
    element("scrub").addEventListener("input", (event) => { this.pause(); this.seek(Number(event.target.value)); });
    document.addEventListener("keydown", (event) => {
      if (event.target.tagName === "SELECT" || event.target.tagName === "INPUT") return;
      if (event.key === " " && event.target.tagName !== "BUTTON") { this.toggle(); event.preventDefault(); }
      if (event.key === "ArrowRight") { this.pause(); this.seek(this.frame + 1); }
      if (event.key === "ArrowLeft") { this.pause(); this.seek(this.frame - 1); }
    });
    this.canvas.addEventListener("pointerdown", (event) => this.canvas.setPointerCapture(event.pointerId));
    this.canvas.addEventListener("pointermove", (event) => {
      if (!event.buttons) return;
      this.picture.drag(event.movementX * devicePixelRatio, event.movementY * devicePixelRatio);
      this.show();
    });
    this.canvas.addEventListener("wheel", (event) => { this.picture.wheel(event.deltaY); this.show(); event.preventDefault(); }, { passive: false });
    addEventListener("resize", () => this.resize());
  }

  resize() {
    for (const canvas of [this.canvas, element("chart")]) {
      canvas.width = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
      canvas.height = Math.max(1, Math.round(canvas.clientHeight * devicePixelRatio));
    }
    this.chart();
    this.show();
  }

  /** The number of touching pairs over the whole run. */
  chart() {
    const canvas = element("chart"), context = canvas.getContext("2d"), pairs = this.run.stats.pairs;
    const most = pairs.reduce((a, b) => Math.max(a, b), 1), across = canvas.width / Math.max(1, pairs.length - 1);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.beginPath();
    context.moveTo(0, canvas.height);
    pairs.forEach((count, frame) => context.lineTo(frame * across, canvas.height * (1 - 0.95 * count / most)));
    context.lineTo(canvas.width, canvas.height);
    context.fillStyle = "#d55e0066";
    context.fill();
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  play() {
    if (this.playing || this.run.frames < 2) return;
    this.playing = true;
    element("play").textContent = "Pause";
    this.last = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  pause() {
    this.playing = false;
    element("play").textContent = "Play";
  }

  tick(now) {
    if (!this.playing) return;
    // A hidden tab does not catch up.
    this.share += Math.min(0.25, Math.max(0, now - this.last) / 1000) * FRAMES_PER_SECOND * this.speed;
    this.last = now;
    const whole = Math.floor(this.share);
    if (whole) {
      this.share -= whole;
      this.seek((this.frame + whole) % this.run.frames);
    }
    requestAnimationFrame((later) => this.tick(later));
  }

  seek(frame) {
    this.frame = Math.min(this.run.frames - 1, Math.max(0, frame));
    this.show();
  }

  show() {
    if (!this.run.frames) return;
    this.picture.draw(this.frame);
    this.drawn++;
    const stats = this.run.stats, at = (name) => stats[name][this.frame];
    const whole = (number) => Math.round(number).toLocaleString("en"), ms = (seconds) => `${(1e3 * seconds).toFixed(2)} ms`;
    const texts = {
      time: at("time").toFixed(2), bodies: whole(at("bodies")), pairs: whole(at("pairs")),
      events: `${whole(at("enter"))} / ${whole(at("exit"))}`, tests: whole(at("tests")), brute: whole(at("brute_force_tests")),
      broad: ms(at("seconds_of_broad_phase")), narrow: ms(at("seconds_of_narrow_phase")),
      count: `${this.frame + 1} / ${this.run.frames}`,
    };
    for (const [id, text] of Object.entries(texts)) element(id).textContent = text;
    element("scrub").value = this.frame;
  }
}

(async () => {
  try {
    const run = await Run.read(JSON.parse(element("data").textContent));
    window.replay = new Player(run);
    window.replay.play();
  } catch (error) {
    element("error").hidden = false;
    element("error").textContent = `Cannot show this run: ${error.message}`;
  }
})();
