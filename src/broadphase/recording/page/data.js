// The run: its numbers decoded from text, and the pose of each track in a frame. See Poses in replay.py.

const COLOURS = { ground: "#14171c", apart: "#8a9bb0", static: "#4a5563", touching: "#d55e00", touchingStatic: "#9a480c", edge: "#0c0e11", bounds: "#3a424e" };

/** Undo base64, deflate and the split into byte planes. */
async function unpack(text, Type) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const width = Type.BYTES_PER_ELEMENT, count = planes.length / width, bytes = new Uint8Array(planes.length);
  for (let plane = 0; plane < width; plane++)
    for (let place = 0; place < count; place++) bytes[place * width + plane] = planes[plane * count + place];
  return new Type(bytes.buffer);
}

class Run {
  static async read(data) {
    const run = new Run();
    Object.assign(run, data);
    const types = { lifetimes: Int32Array, isStatic: Uint8Array, poses: Uint16Array, touching: Uint8Array, form: Int32Array,
                    track: Int32Array, aligned: Uint8Array, transforms: Float32Array };
    for (const [name, Type] of Object.entries(types)) run[name] = await unpack(data[name], Type);
    for (const name in data.stats) run.stats[name] = await unpack(data.stats[name], Float64Array);
    run.tracks = run.isStatic.length;
    run.channels = run.dim + run.rotationSize;
    run.rowBytes = Math.ceil(run.tracks / 8);
    run.decodePoses();
    const d = run.dim;
    run.positions = new Float32Array(run.tracks * d);
    run.rotations = new Float32Array(run.tracks * d * d);  // matrices, row by row
    return run;
  }

  /** Poses are stored as second differences modulo 65536. */
  decodePoses() {
    const size = this.tracks * this.channels, step = new Uint16Array(size), poses = this.poses;
    for (let frame = 1; frame < this.frames; frame++) {
      const at = frame * size;
      for (let k = 0; k < size; k++) {
        step[k] += poses[at + k];
        poses[at + k] = poses[at - size + k] + step[k];
      }
    }
  }

  isPresent(track, frame) { return this.lifetimes[2 * track] <= frame && frame < this.lifetimes[2 * track + 1]; }

  isTouching(track, frame) { return (this.touching[frame * this.rowBytes + (track >> 3)] >> (track & 7)) & 1; }

  /** Static bodies are darker: the moving ones matter more. */
  styleOf(track, frame) {
    const isTouching = this.isTouching(track, frame);
    if (this.isStatic[track]) return isTouching ? "touchingStatic" : "static";
    return isTouching ? "touching" : "apart";
  }

  /** Set positions and rotations to those of a frame. */
  setFrame(frame) {
    const { dim: d, channels, rotationSize, poses, positions, rotations, lower, upper } = this;
    const scale = lower.map((low, axis) => (upper[axis] - low) / 65535);
    for (let track = 0; track < this.tracks; track++) {
      const at = (frame * this.tracks + track) * channels;
      for (let axis = 0; axis < d; axis++) positions[track * d + axis] = lower[axis] + poses[at + axis] * scale[axis];
      if (rotationSize === 1) {
        const angle = poses[at + d] * (2 * Math.PI / 65536), c = Math.cos(angle), s = Math.sin(angle);
        rotations.set([c, -s, s, c], track * 4);
      } else if (rotationSize === 4) {
        rotations.set(matrixOf(poses.subarray(at + d, at + d + 4)), track * 9);
      } else {
        for (let axis = 0; axis < d; axis++) rotations[track * d * d + axis * d + axis] = 1;
      }
    }
  }

  /** Lower and upper corner of the picture. */
  extent() {
    if (this.bounds) return this.bounds;
    const d = this.dim, reach = this.pieceReach();
    return [this.lower.map((low) => low - reach), this.upper.map((high) => high + reach)].map((corner) => corner.slice(0, d));
  }

  /** How far the larger bodies reach beyond their positions; the two percent of the largest are left out. */
  pieceReach() {
    const d = this.dim, width = d + d * d, reaches = [];
    for (let piece = 0; piece < this.form.length; piece++) {
      let most = 0;
      for (let k = 0; k < width; k++) most = Math.max(most, Math.abs(this.transforms[piece * width + k]));
      reaches.push(most);
    }
    reaches.sort((a, b) => a - b);
    return reaches.length ? reaches[Math.floor(0.98 * (reaches.length - 1))] : 1;
  }
}

function matrixOf(numbers) {
  let [w, x, y, z] = Array.from(numbers, (number) => number / 32767.5 - 1);
  const length = Math.hypot(w, x, y, z) || 1;
  w /= length; x /= length; y /= length; z /= length;
  return [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
          2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
          2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)];
}
