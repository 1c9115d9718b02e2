// The picture of a 2D run, drawn on a canvas: drag to move, wheel to zoom.

class Plane {
  constructor(canvas, run) {
    this.canvas = canvas;
    this.run = run;
    this.context = canvas.getContext("2d");
    this.zoom = 1;
    const [lower, upper] = run.extent();
    this.middle = lower.map((low, axis) => (low + upper[axis]) / 2);
  }

  /** Pixels per unit of length. */
  get scale() {
    const [lower, upper] = this.run.extent();
    const room = [upper[0] - lower[0] || 1, upper[1] - lower[1] || 1];
    return 0.94 * this.zoom * Math.min(this.canvas.width / room[0], this.canvas.height / room[1]);
  }

  drag(dx, dy) {
    this.middle[0] -= dx / this.scale;
    this.middle[1] += dy / this.scale;
  }

  wheel(amount) { this.zoom = Math.min(200, Math.max(0.2, this.zoom * Math.exp(-amount / 500))); }

  draw(frame) {
    const { context, canvas, run, scale } = this;
    run.setFrame(frame);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = COLOURS.ground;
    context.fillRect(0, 0, canvas.width, canvas.height);
    // Coordinates of the run, y upwards.
    context.setTransform(scale, 0, 0, -scale, canvas.width / 2 - scale * this.middle[0], canvas.height / 2 + scale * this.middle[1]);
    if (run.bounds) {
      const [[x, y], [right, top]] = run.bounds;
      context.lineWidth = 1.5 / scale;
      context.strokeStyle = COLOURS.bounds;
      context.strokeRect(x, y, right - x, top - y);
    }
    const thin = Math.max(0.5, Math.min(1.5, 24 / Math.sqrt(run.tracks))) / scale;
    for (const style of ["static", "touchingStatic", "apart", "touching"]) {
      const faces = new Path2D(), lines = new Path2D();
      for (let piece = 0; piece < run.form.length; piece++) {
        const track = run.track[piece];
        if (run.isPresent(track, frame) && run.styleOf(track, frame) === style) this.trace(piece, track, faces, lines);
      }
      context.fillStyle = COLOURS[style];
      context.fill(faces);
      context.strokeStyle = COLOURS.edge;
      context.lineWidth = thin;
      context.stroke(faces);
      context.strokeStyle = COLOURS[style];
      context.lineWidth = 2 / scale;
      context.stroke(lines);
    }
  }

  /** Add the outline of a piece to the faces, or to the lines if it has no interior. */
  trace(piece, track, faces, lines) {
    const { run, scale } = this, form = run.forms[run.form[piece]], vertices = form.vertices;
    const [ax, ay, a, b, c, d] = run.transforms.subarray(6 * piece, 6 * piece + 6);
    const [r, s, t, u] = run.rotations.subarray(4 * track, 4 * track + 4);
    const x = run.positions[2 * track] + r * ax + s * ay, y = run.positions[2 * track + 1] + t * ax + u * ay;
    if (form.name === "dot" || form.name === "disc") {
      const radius = form.name === "dot" ? 2 / scale : Math.hypot(a, c);
      faces.moveTo(x + radius, y);
      faces.arc(x, y, radius, 0, 2 * Math.PI);
      return;
    }
    const aligned = run.aligned[piece];
    const [k, l, m, n] = aligned ? [a, b, c, d] : [r * a + s * c, r * b + s * d, t * a + u * c, t * b + u * d];
    const path = form.name === "line" ? lines : faces;
    for (let at = 0; at < vertices.length; at += 2) {
      const px = x + k * vertices[at] + l * vertices[at + 1], py = y + m * vertices[at] + n * vertices[at + 1];
      if (at === 0) path.moveTo(px, py); else path.lineTo(px, py);
    }
    if (path === faces) path.closePath();
  }
}
